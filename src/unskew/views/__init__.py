"""Views of a log: a `Log` in, a `Log` out, so that whatever works on a log works on a view of it.

- `organic`: without what was exposed
"""
