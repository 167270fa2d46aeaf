"""Where passes run: on the threads of this machine, and later elsewhere.

- `protocol`: what `fit_weights` asks of an engine, besides passes
- `local`: the answers of this machine
"""
