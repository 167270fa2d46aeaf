"""Scores over time: every recommender at every date of a grid, raw and weighted.

- `timeline`: the work from the first date to the last, interrupted or not
- `timeline_spec`: what was asked for; `timeline_files`: where it is written
- `other_end`: the other end of the range, scored beside the log as it is
- `date_grid`: the dates; `scored_date`: the work at one of them
- `timeline_chart`: the result as charts; `timeline_page`: and as sections of a page
- `timeline_table`: the result and its file; `resume`: what of it is done already;
  `reference_mix`: what tells its reference apart from another
"""
