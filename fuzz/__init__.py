"""The campaign that keeps unskew trustworthy: damaged files, random options, kills, full disks.

``make fuzz`` runs it. Every case runs in a child process that may crash. The rule is the same for all: unskew
ends with one line that says what is wrong, or with a result that somebody else confirms: a plain reader of a few
lines, or unskew itself on the file as it was. Anything else is a finding.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is there: a fork would lose its threads
