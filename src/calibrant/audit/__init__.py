"""The main job: everything that applies, at once, with a verdict in words."""

from calibrant.audit import classes, intervals, laws, probabilities, quantiles, sets  # each enters its kind
from calibrant.audit.audit import Audit, audit

__all__ = ["Audit", "audit", "classes", "intervals", "laws", "probabilities", "quantiles", "sets"]
