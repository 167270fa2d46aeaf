"""Simulated worlds: people with tastes, what a service recommends to them, and what they take because of it.

What people take by themselves has random numbers of its own. So the same world in which nothing is recommended
is known exactly: it is the truth with which estimates can be compared.

The public names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
