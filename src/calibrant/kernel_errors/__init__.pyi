"""What `calibrant.kernel_errors` exports besides what stands at the top level; imported when it is first used."""

from calibrant.kernel_errors.mean_embedding import cme_test as cme_test
from calibrant.kernel_errors.mean_embedding import ucme as ucme
