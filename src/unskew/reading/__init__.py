"""From files and dataframes to a log.

- `reader`: `read_log`, which finds the columns
- `sources`: the files or the frame, as one DuckDB relation; `limits`: the memory and the disk that it may use
- `file_options`: how a file is to be read where it does not say so; `input_file`: a file with these options
- `unpacking`: packed files, archives, standard input, other encodings
- `formats`: the file formats and how to tell them apart
- `csv_files`, `json_files`, `columnar_files`, `excel_files`, `database_files`: how files of each format are opened
- `text_sniffing`, `text_encodings`: separator, quotes, header and encoding, told from the first lines
- `column_types`, `column_times`, `time_formats`: what a column holds, decided from its type or from all its values
- `column_guesses`, `column_synonyms`, `column_contents`: which columns are users, items and times
- `exposures`: who was shown what when, marked in a log
- `typed_rows`: ids as they are, times as ticks; checked
- `encoder`: from rows to arrays, by `loop_encoder` if they are plain, else by `sql_encoder`
- `coded_rows`: rows that wait in memory or in files until all ids are known
- `id_column`: ids that come in batches, texts or numbers, and the numbers that stand for them
- `spark_files`: Parquet files for Spark, looked into before it reads them
- `spark_rows`: the rows of a Spark table, checked; `spark_layout`: from these to a log on the cluster
- `sql`: names and texts inside SQL, and errors of DuckDB in one line
"""
