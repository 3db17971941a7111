"""Predictive laws: one distribution per row, given by its parameters or by draws."""

from calibrant.inputs.laws.laplace import Laplace
from calibrant.inputs.laws.law import Law, beside
from calibrant.inputs.laws.mixture import Mixture
from calibrant.inputs.laws.mv_normal import MvNormal
from calibrant.inputs.laws.normal import Normal
from calibrant.inputs.laws.samples import Samples
from calibrant.inputs.laws.scipy_law import ScipyLaw

__all__ = ["Laplace", "Law", "Mixture", "MvNormal", "Normal", "Samples", "ScipyLaw", "beside"]
