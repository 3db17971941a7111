"""What `calibrant.regions` exports besides what stands at the top level; imported when it is first used."""

from calibrant.regions.christoffersen import christoffersen_test as christoffersen_test
from calibrant.regions.coverage import coverage_width_criterion as coverage_width_criterion
from calibrant.regions.coverage_test import kupiec_test as kupiec_test
from calibrant.regions.coverage_test import multinomial_coverage_test as multinomial_coverage_test
from calibrant.regions.hsic import coverage_hsic as coverage_hsic
from calibrant.regions.hsic import coverage_hsic_test as coverage_hsic_test
from calibrant.regions.sizes import size_stratified_coverage as size_stratified_coverage
from calibrant.regions.slabs import worst_slab_coverage as worst_slab_coverage
