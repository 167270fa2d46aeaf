from .yardstick_result import Yardstick as Yardstick
from .yardstick_run import yardstick as yardstick
