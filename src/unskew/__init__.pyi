__version__: str

from . import methods as methods
from . import recommend as recommend
from . import views as views
from . import worlds as worlds
from .data.log import Log as Log
from .data.marginal import Marginal as Marginal
from .data.slice import Snapshot as Snapshot
from .errors import ColumnError as ColumnError
from .errors import ConvergenceWarning as ConvergenceWarning
from .errors import CostNotice as CostNotice
from .errors import EmptyError as EmptyError
from .errors import EngineError as EngineError
from .errors import FileError as FileError
from .errors import InputError as InputError
from .errors import PolicyError as PolicyError
from .errors import ReadingNotice as ReadingNotice
from .errors import TimeError as TimeError
from .errors import UnskewError as UnskewError
from .errors import UnskewWarning as UnskewWarning
from .evaluation.comparison import compare as compare
from .evaluation.debiased_test_set import sample_pairs as sample_pairs
from .evaluation.evaluate_one import evaluate as evaluate
from .evaluation.evaluate_one import rank_held_out as rank_held_out
from .evaluation.evaluate_report import report as report
from .evaluation.metric import Metric as Metric
from .evaluation.verdict import Verdict as Verdict
from .monitoring.check_thresholds import check as check
from .over_time.timeline import timeline as timeline
from .reading.reader import read_log as read_log
from .recommend.constant import Constant as Constant
from .recommend.ease import EASE as EASE
from .recommend.implicit_models import ImplicitModel as ImplicitModel
from .recommend.knn import ItemKNN as ItemKNN
from .recommend.matrix import MatrixModel as MatrixModel
from .recommend.popular import Popular as Popular
from .recommend.table import Table as Table
from .views.excess import excess as excess
from .views.knowledge import Knowledge as Knowledge
from .weights.drift import drift as drift
from .weights.fit_options import FitOptions as FitOptions
from .weights.fit_weights import fit_weights as fit_weights
from .weights.item_weights import ItemWeights as ItemWeights
from .worlds.recipe import Recipe as Recipe
from .worlds.simulation import simulate as simulate

__all__: list[str]
