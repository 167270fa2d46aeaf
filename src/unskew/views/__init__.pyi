from .adjusted_view import adjusted as adjusted
from .dropping import organic as organic
from .dropping import outside as outside
from .excess import Excess as Excess
from .thinning import kept as kept
from .thinning import thinned as thinned
from .view_choice import take_draws as take_draws
from .view_choice import take_view as take_view
