from .timeline_table import Timeline as Timeline
