"""How results look: sentences, tables for the terminal, sections of the report page."""
