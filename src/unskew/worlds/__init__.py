"""Simulated worlds: people with tastes, what a service recommends to them, and what they take because of it.

What people take by themselves has random numbers of its own. So the same world in which nothing is recommended
is known exactly: it is the truth with which estimates can be compared.

- `simulation`: `simulate`, which makes a world
- `world`: the result, its logs and tables; `world_files`: the folder that it is kept in
- `recipe`: the parameters of a world, its campaigns and its loop; `recipe_json`: the same as JSON
- `named_worlds`: the recipes of the worlds that have a name; `world_names`: the names, and what each is about
- `people`: what people take by themselves
- `campaigns`: what a campaign shows to people, and what they take of it
- `world_models`: productions that only a simulated world has: content, trending items, same makers
- `closed_loop`: what wins an offline evaluation is put into production
- `injection`: campaigns in a log of real people; `tastes`: what these people like
"""
