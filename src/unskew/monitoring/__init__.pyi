from .thresholds import Check as Check
from .thresholds import CheckedThreshold as CheckedThreshold
from .thresholds import Thresholds as Thresholds
