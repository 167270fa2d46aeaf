"""How results look: sentences and tables for the terminal.

- `verdict_text`: verdicts, and the table of scores below them
"""
