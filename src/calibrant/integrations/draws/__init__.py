"""Draws as other packages give them: arviz, sbi, BayesFlow. Told by their shape; none of these is imported."""

from calibrant.integrations.draws.arrays import Drawn, from_bayesflow, from_sbi
from calibrant.integrations.draws.arviz import from_arviz

__all__ = ["Drawn", "from_arviz", "from_bayesflow", "from_sbi"]
