from .adjusted_view import adjusted as adjusted
from .dropping import organic as organic
from .dropping import outside as outside
from .excess import Excess as Excess
from .knowledge import take_view as take_view
from .thinning import kept as kept
from .thinning import thinned as thinned
