"""Charts and pages for people: rows and dicts in, pictures out. Knows nothing of logs, weights or scores."""
