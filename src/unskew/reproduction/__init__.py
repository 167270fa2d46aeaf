"""The experiment of the paper, made again: what it claims, its figures, and one page that shows them."""
