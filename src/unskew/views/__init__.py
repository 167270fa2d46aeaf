"""Views of a log: a `Log` in, a `Log` out, so that whatever works on a log works on a view of it.

`thinned`, `kept` and `excess` walk the same way. `contrast` finds short windows (`short_windows`), the hold-out
group (`holdout_group`) or quiet windows (`quiet_windows`), and what was taken there (`taken_pairs`).
`production_choice` ranks it by a model of production (`production_ranks`). `ranked_contrast` gives each pair a
cell (`strata`, `item_push`) and counts (`tally`); `rates` says how much is usual and how much is kept. From there
`thinning` draws (`keep_draws`), and `cross_fitted` measures the excess, from which `placebo` takes out what the
same comparison finds before anything was recommended.

Scores of a view count as free of bias only if it dropped something and passed its test on this log: a placebo
test, a holdout group that was like the others, and no sign of recommendations in what is left (`leftover`).

The public names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
