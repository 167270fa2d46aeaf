"""Recommenders: the contract, those that ship with unskew, and how to bring others.

- `contract`: what a recommender is, and all that it may have besides
- `calls`: calling a recommender, and checking what it gives
- `specs`: recommenders by name, as the command line writes them; `parameters`: their parameters as text;
  `display_name`: a recommender under the name by which it was asked for; `imports`: those outside unskew, by name
- `constant`, `popular`, `knn`, `ease`: those of unskew
- `implicit_models`: those of the library implicit; `function`: a function as a recommender
- `matrix_model`: any model that is fitted to a matrix; `matrix`: profiles as rows of one;
  `matrix_fold_in`: profiles folded into a factorisation
- `table`: lists external; `table_columns`: which column holds what; `table_rows`: reading them;
  `table_codes`: their ids as codes of a log; `table_lists`: those that are valid at a date
- `popular_kernels`, `knn_kernels`, `ease_kernels`, `matrix_kernels`: their loops;
  `knn_arrays`: the arrays of the neighbours
- `candidates`: the best of many, in a heap; `holders`: who holds an item; `work_blocks`: work cut for threads
- `cost`: what a recommender costs, from counts alone
- `preconditions`: that a recommender has been fitted, where, and how long a list is wanted

The public names are listed in ``__init__.pyi``; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
