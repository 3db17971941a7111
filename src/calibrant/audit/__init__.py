"""The main job: everything that applies, at once, with a verdict in words."""

from calibrant.audit import classes, probabilities  # each enters its kind of prediction
from calibrant.audit.audit import Audit, audit

__all__ = ["Audit", "audit", "classes", "probabilities"]
