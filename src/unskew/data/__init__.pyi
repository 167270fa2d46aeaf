from .policy import Policy as Policy
from .policy import Recency as Recency
from .policy import Share as Share
from .slice import Weighting as Weighting
from .slice import Window as Window
