"""Other debiasing methods behind one interface: each gives pair probabilities, so that scoring is shared.

- `method`: what a method is; `registry`: methods by name, and how to make one from what is known
- `no_method`: the raw score; `fixed_snapshot`: the score at the old date; `time_window`: what was taken lately
- `fitted_weights`: item weights of all items, or of the p items of largest change; `one_step_ratio`: each item
  weighted once, shrunken or not; `item_first`: an item as at the reference date, then one of its holders
- `ips`, `snips`, `popularity_propensity`: divided by a propensity that follows popularity; `skew`: by popularity
- `wtd`: pairs weighted by user and by item; `popularity_strata`: scores of strata, averaged;
  `down_sampling`: popular items kept in part
- `holdout_users`: only users who were never shown anything

The public names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
