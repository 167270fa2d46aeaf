from .exposures import mark_exposed as mark_exposed
