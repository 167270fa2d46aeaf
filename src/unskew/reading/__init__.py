"""From files and dataframes to a log.

- `reader`: `read_log`, which finds the columns
- `sources`: the files or the frame, as one DuckDB relation; `limits`: the memory and the disk that it may use
- `formats`: the file formats and how to tell them apart
- `csv_files`, `json_files`, `columnar_files`: how files of each format are opened
- `column_types`, `column_times`: what a column holds, decided from its type or from all its values
- `column_synonyms`: what columns are often called
- `exposures`: who was shown what when, marked in a log
- `encoder`: from rows to arrays
- `sql`: names and texts inside SQL, and errors of DuckDB in one line
"""
