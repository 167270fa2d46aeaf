"""Charts and pages for people. Nothing here computes; it shows what other layers found."""
