"""What `calibrant.points` exports; every name is imported when it is first used."""

from calibrant.points.balls import DensityCoverage as DensityCoverage
from calibrant.points.balls import Relabelled as Relabelled
from calibrant.points.balls import density_coverage as density_coverage
from calibrant.points.blocks import PointBlocks as PointBlocks
from calibrant.points.classifier_test import c2st as c2st
from calibrant.points.comparison import compare as compare
from calibrant.points.discrepancy import kernel_distance as kernel_distance
from calibrant.points.discrepancy import mmd as mmd
from calibrant.points.discrepancy_test import mmd_test as mmd_test
from calibrant.points.frechet import frechet_distance as frechet_distance
from calibrant.points.moments import PointMoments as PointMoments
from calibrant.points.vendi import vendi_score as vendi_score
