"""Draws as other packages give them: arviz, sbi, BayesFlow. Told by their shape; none of these is imported."""

from calibrant.integrations.draws.arviz import from_arviz
from calibrant.integrations.draws.bayesflow import from_bayesflow
from calibrant.integrations.draws.drawn import Drawn
from calibrant.integrations.draws.sbi import from_sbi

__all__ = ["Drawn", "from_arviz", "from_bayesflow", "from_sbi"]
