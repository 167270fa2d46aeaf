"""What builds the documentation and is not part of the package."""
