"""Worlds whose history is known: people with tastes, what a service recommends to them, and what follows.

What people take by themselves has random numbers of its own; so the same world in which nothing is recommended
is known exactly, and is the truth that estimates can be held against.
"""
