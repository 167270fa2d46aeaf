"""The nouns: ids, times, the log, its slices, item marginals, and how users and items are chosen."""
