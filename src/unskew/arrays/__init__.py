"""Numbers only: profiles as arrays, loops over them, and how a pass is cut into blocks and threads.

Nothing here knows an id or a date. `types` is free to import: it loads no compiler.
"""
