"""What `calibrant.regions` exports besides what stands at the top level; imported when it is first used."""

from calibrant.regions.christoffersen import christoffersen_test as christoffersen_test
from calibrant.regions.coverage_hsic import coverage_hsic_test as coverage_hsic_test
from calibrant.regions.coverage_test import kupiec_test as kupiec_test
from calibrant.regions.coverage_test import multinomial_coverage_test as multinomial_coverage_test
