"""Numbers only: profiles as arrays, loops over them, and how a pass is cut into blocks and threads.

Nothing here knows an id or a date. `types` is free to import: it loads no compiler.

- `types`: the arrays that the package passes around
- `profiles`: who holds what, as offsets and item codes
- `rows`: entries of profiles, and whose they are
- `user_cut`: where users are cut into blocks; `blocks`: work on blocks, run on threads
- `sweep`: one pass over profiles; `margin_sweep`: one for several margins of their entries
- `marked_rows`, `marked_kernels`, `prefetch`: a copy of profiles that makes passes faster, and their loops
- `kernels`, `margin_kernels`, `item_kernels`, `list_kernels`: loops over profiles, over items between two passes,
  over lists
- `drawing_kernels`: random parts of profiles added up
- `folding`, `folding_kernels`: rows gathered into profiles
- `id_table`, `id_kernels`: ids that come in batches, and their numbers
- `compiling`: how loops are compiled
- `lookup`: numbers looked up among sorted ones
- `distances`: how far two item mixes are apart
"""
