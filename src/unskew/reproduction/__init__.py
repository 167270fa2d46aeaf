"""The experiment of the paper, made again: what it found, the figures, and one page that shows them."""
