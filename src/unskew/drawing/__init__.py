"""Charts and pages for people: rows and dicts in, pictures out. Knows nothing of logs, weights or scores.

- `theme`: one look for every chart: colours, strokes, axes; how a chart becomes a file
- `labels`: words in a chart, placed so that they do not cover one another
- `time_axis`: time across a chart, and what happened when; `lines_over_time`: values over time with their bands
- `split_chart`: from one value to another, part by part; `range_chart`: ranges around zero
- `item_changes`: how far things moved between two times; `share_bars`: how much falls into each class
- `dot_chart`: values with intervals, a line for each name
- `burst_chart`: bursts over time; `chart_file`: a chart as a file of its own
- `listing`: a table of any length, for a page
- `page`: one page of text, tables and charts that works without a network
"""
