"""What `calibrant.ranking` exports besides what stands at the top level; imported when it is first used."""

from calibrant.ranking.covariates import rank_score_test as rank_score_test
from calibrant.ranking.density_ranks import energy_ranks as energy_ranks
from calibrant.ranking.distance_ranks import tarp_ranks as tarp_ranks
from calibrant.ranking.draw_lags import draw_dependence as draw_dependence
from calibrant.ranking.edf_tests import rank_cauchy_test as rank_cauchy_test
from calibrant.ranking.edf_tests import rank_edf_test as rank_edf_test
from calibrant.ranking.exchange_test import rank_exchange_test as rank_exchange_test
from calibrant.ranking.spread import contraction as contraction
from calibrant.ranking.spread import z_scores as z_scores
from calibrant.ranking.truth_recovery import recovery as recovery
from calibrant.ranking.truth_recovery import z_score_contraction as z_score_contraction
from calibrant.ranking.uniformity_test import rank_chi2_test as rank_chi2_test
from calibrant.ranking.uniformity_test import rank_smooth_test as rank_smooth_test
from calibrant.ranking.vector_ranks import joint_ranks as joint_ranks
