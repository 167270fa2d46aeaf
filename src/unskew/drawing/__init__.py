"""Charts and pages for people: rows and dicts in, pictures out. Knows nothing of logs, weights or scores.

- `theme`: one look for every chart: colours, strokes, axes; how a chart becomes a file
- `labels`: words in a chart, placed so that they do not cover one another
- `burst_chart`: bursts over time; `chart_file`: a chart as a file of its own
- `page`: one page of text, tables and charts that works without a network
"""
