"""What `calibrant.points` exports; every name is imported when it is first used."""

from calibrant.auditing.compare_points import compare as compare
from calibrant.points.balls import DensityCoverage as DensityCoverage
from calibrant.points.balls import Relabelled as Relabelled
from calibrant.points.balls import density_coverage as density_coverage
from calibrant.points.blocks import PointBlocks as PointBlocks
from calibrant.points.classifier_test import c2st as c2st
from calibrant.points.discrepancy import kernel_distance as kernel_distance
from calibrant.points.discrepancy import mmd as mmd
from calibrant.points.discrepancy_test import mmd_test as mmd_test
from calibrant.points.diversity import diversity_test as diversity_test
from calibrant.points.diversity import vendi_profile as vendi_profile
from calibrant.points.frechet import frechet_distance as frechet_distance
from calibrant.points.frontier import precision_recall_curve as precision_recall_curve
from calibrant.points.moments import PointMoments as PointMoments
from calibrant.points.sliced import sliced_wasserstein as sliced_wasserstein
from calibrant.points.sliced import sliced_wasserstein_test as sliced_wasserstein_test
from calibrant.points.vendi import vendi_score as vendi_score
