"""From files and dataframes to a log."""
