"""The experiment of the paper, made again: what it claims, its figures, and one page that shows them.

- `experiment`: `reproduce`, which does it all, and the folder that it is written to
- `study`: a world studied as in the paper; `claims`: what the paper claims, and whether it holds
- `paper_tables`, `paper_figures`, `paper_sentences`: figures 1 to 6; `power_law`: the law of figure 2
- `beyond_tables`, `beyond_figures`, `beyond_sentences`: figures 7 and 8, and the numbers and words of 9 and 10
- `loop_figure`: figures 9 and 10
- `figure`: what a figure is; `weighting_strokes`: the lines of its weightings; `phrases`: numbers in words
- `page_text`, `reproduction_page`: the page
"""
