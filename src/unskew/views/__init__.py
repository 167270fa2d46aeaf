"""Views of a log: a `Log` in, a `Log` out, so that whatever works on a log works on a view of it.

- `organic`: without what was exposed
- `outside`: without what was taken in windows of time
- `take_view`: the best view that what is known allows
- `reporting`: what a view left out, counted

A view that removes what recommendations did to the log is named in `unskew.data.policy`, or its scores are marked
as if it did not.
"""
