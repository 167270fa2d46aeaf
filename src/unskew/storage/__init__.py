"""Our own files: whole or not at all, checked when they are read, never unpacked to far more than was written."""
