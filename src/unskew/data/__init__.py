"""The nouns: ids, times, the log, its slices, item marginals, and how users and items are chosen.

- `ids`: the caller's ids and the codes that stand for them
- `date_grammar`, `times`: how dates are written; the time axis of a log; `date_columns`: dates in dataframes
- `epoch_units`: numbers that count since 1970; `relative_times`: times given with a log in mind, such as -30d
- `columns`: the columns that a log came from
- `dated_log`: what is known about the time of any log, wherever it is
- `log`, `saved_log`: all of history, in memory and on disk; `repeats`: later rows of pairs that it counts once
- `fingerprint`: what tells one log apart from another
- `view_report`: what a view of a log left out of it
- `slice`: what the two kinds of slices share; `snapshot`: the profiles at a date; `window`: what came between two
- `priors`: P(u) and P(i|u); `policy`: how both and the users were chosen; `eligibility`: who is evaluated
- `marginal`: the item mix of a date; `weighting`: weights as scoring sees them
- `split_rule`: how items are held out; `held_out_split`: what that gives at one date
- `held_out_words`: the same in words; `last_items`: the last item of each profile
- `time_steps`: steps of time, such as 7d or 1mo; `time_windows`: windows of time, such as those of campaigns
- `shares`: how many, and how much of the probability; `levels`: the level of an interval
"""
