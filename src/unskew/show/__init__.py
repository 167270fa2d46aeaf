"""How results look: sentences and tables for the terminal."""
