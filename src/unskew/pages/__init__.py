"""The page of one's own log: what is known about some recommenders between two dates, to be sent to a team."""
