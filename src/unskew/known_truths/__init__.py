"""Known truths: every method of removing bias held against worlds in which the answer is known."""
