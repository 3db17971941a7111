"""What `calibrant.kernels` exports; every name is imported when it is first used."""

from calibrant.kernels.kernel import Delta as Delta
from calibrant.kernels.kernel import Exponential as Exponential
from calibrant.kernels.kernel import Gaussian as Gaussian
from calibrant.kernels.kernel import JointKernel as JointKernel
from calibrant.kernels.kernel import Kernel as Kernel
from calibrant.kernels.kernel import Matern32 as Matern32
from calibrant.kernels.kernel import Matern52 as Matern52
from calibrant.kernels.kernel import Product as Product
from calibrant.kernels.kernel import RationalQuadratic as RationalQuadratic
