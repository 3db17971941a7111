"""How each kind of rows is audited: the one table that a new kind of prediction is entered in."""

from __future__ import annotations

from calibrant.auditing.distributions import audit_distributions, distribution_groups
from calibrant.auditing.groups import kuiper_groups
from calibrant.auditing.probabilities import audit_binary, audit_classes
from calibrant.auditing.regions import audit_intervals, audit_quantiles, audit_sets, quantile_groups
from calibrant.core.findings import Kind
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import DistributionRows, IntervalRows, QuantileRows, SetRows
from calibrant.regions.audit_tables import sized_groups

AUDITED: dict[type, Kind] = {
    Binary: Kind(audit_binary, kuiper_groups),
    Classes: Kind(audit_classes, kuiper_groups, families=2),
    IntervalRows: Kind(audit_intervals, sized_groups, families=2),
    SetRows: Kind(audit_sets, sized_groups, families=2),
    QuantileRows: Kind(audit_quantiles, quantile_groups),
    DistributionRows: Kind(audit_distributions, distribution_groups),
}
