from .adjusted_view import adjusted as adjusted
from .excess import Excess as Excess
from .kept_view import kept as kept
from .organic_view import organic as organic
from .outside_view import outside as outside
from .thinned_view import thinned as thinned
from .view_choice import take_draws as take_draws
from .view_choice import take_view as take_view
