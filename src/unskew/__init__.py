"""Comparable offline scores for recommender systems.

The public names are listed in ``__init__.pyi``, beside this file; each is imported when it is first used, so that
``import unskew`` and ``unskew --help`` are quick.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
