"""What unskew sees in a file, and what to do next: a first look at a log that nobody has described.

- `examine`: the look itself, which never fails on an odd file that can be opened
- `examination`: what it found
- `next_commands`: the commands to run, filled in for this file
- `protocol_advice`: whether leave-one-out or a time split suits a log
"""
