"""What `calibrant.ranking` exports besides what stands at the top level; imported when it is first used."""

from calibrant.ranking.covariates import rank_score_test as rank_score_test
from calibrant.ranking.edf_tests import rank_cauchy_test as rank_cauchy_test
from calibrant.ranking.edf_tests import rank_edf_test as rank_edf_test
from calibrant.ranking.exchange_test import rank_exchange_test as rank_exchange_test
from calibrant.ranking.truth_recovery import recovery as recovery
from calibrant.ranking.truth_recovery import z_score_contraction as z_score_contraction
from calibrant.ranking.uniformity_test import rank_chi2_test as rank_chi2_test
from calibrant.ranking.uniformity_test import rank_smooth_test as rank_smooth_test
