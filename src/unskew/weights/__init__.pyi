from .bursts import Burst as Burst
from .bursts import Bursts as Bursts
from .bursts import find_bursts as find_bursts
from .drift import Chance as Chance
from .drift import Drift as Drift
from .fit_report import Certificate as Certificate
from .fit_report import FitReport as FitReport
from .margins import Agreement as Agreement
