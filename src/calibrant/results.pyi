"""What `calibrant.results` exports; every name is imported when it is first used."""

from calibrant.auditing.explain import Explanation as Explanation
from calibrant.core.results import ConfidenceInterval as ConfidenceInterval
from calibrant.core.results import CrpsDecomposition as CrpsDecomposition
from calibrant.core.results import Curve as Curve
from calibrant.core.results import Decomposition as Decomposition
from calibrant.core.results import Direction as Direction
from calibrant.core.results import Pair as Pair
from calibrant.core.results import Power as Power
from calibrant.core.results import QuantileDecomposition as QuantileDecomposition
from calibrant.core.results import TestResult as TestResult
from calibrant.engines.jobs import Measured as Measured
from calibrant.recalibrating.gain import RecalibrationGain as RecalibrationGain
from calibrant.recalibrating.recalibration import Candidate as Candidate
from calibrant.recalibrating.recalibration import Recalibration as Recalibration
from calibrant.report.audit import Audit as Audit
from calibrant.report.comparison import Comparison as Comparison
from calibrant.simulating.calibration import Calibration as Calibration
from calibrant.simulating.fits import Failure as Failure
from calibrant.simulating.simulate_calibration import Interrupted as Interrupted
