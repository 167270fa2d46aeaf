"""How results look: sentences, tables for the terminal, sections of the report page.

- `verdict_text`: verdicts for the terminal; `verdict_words`: for people who do not run commands
- `verdict_sections`: verdicts on a page; `report_sections`: changes, recommenders, segments, how it was made
- `item_sections`: items on a page; `report_page`: all of it in its order; `report_html`: in a notebook
- `report_words`: what a report says, in sentences; `answer_words`: the same for those new to it
- `glossary`: words on the page
"""
