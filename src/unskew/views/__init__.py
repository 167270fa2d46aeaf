"""Views of a log: a `Log` in, a `Log` out, so that whatever works on a log works on a view of it.

`thinned`, `kept` and `excess` walk the same way. `contrast` finds short windows or quiet ones (`windows`) or a
holdout group, and the interactions there. `production` ranks it by a model of production, gives each pair a cell
(`strata`) and counts; `rates` says how much is usual, how much is kept, and how large the excess is. From there
`thinning` draws, and `placebo` takes out of the excess what the same comparison finds before anything was
recommended.

Scores of a view count as free of bias only if it dropped something and passed its test on this log: a placebo
test, a holdout group that was like the others, and no sign of recommendations in what is left (`find_leftover`).

The public names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
