"""The page of one's own log: what is known about some recommenders between two dates, to be sent to a team.

- `log_page`: the work: a report, a timeline, and the page that shows both
- `dates_between`: how a time is cut into a dozen or two of dates
- `profile_section`: how many items users hold, at both dates
- `timeline_alone`: the page of a saved timeline
"""
