"""Known truths: every method of removing bias held against worlds in which the answer is known.

- `yardstick`: `yardstick`, which does it all
- `yardstick_spec`: what it is asked for; `yardstick_files`: its folder
- `yardstick_result`: what it found; `yardstick_tables`: the same as tables that people read
- `yardstick_page`: the same as a page; `error_map`: the chart on it
- `seed_summary`: the seeds together
- `case_names`: the worlds by name, and the seeds; `case_sources`: where worlds come from; `cut_log`: smaller logs
- `case`: one world of one seed, its dates, and what may be known about it; `world_profile`: how realistic it is
- `method_table`: the methods, each a view of the log and weights on it
- `contestants`: the recommenders
- `ranked_date`: profiles of one date, ranked once; `scored_log`: scores of a log under any weights
- `scored_case`: methods and truths of one case; `agreement`: whether they lead to the same choice
"""
