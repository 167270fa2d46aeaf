"""What unskew sees in a file, and what to do next: a first look at a log that nobody has described."""
