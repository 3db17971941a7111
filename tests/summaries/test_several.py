"""Several summaries that travel together."""

import pytest

from calibrant import Grid, SummaryError
from calibrant.summaries import Ordered, Several


def test_parts_by_name():
    both = Several.of({"cells": Grid.zero(), "rows": Ordered.zero()})
    assert both["rows"] == Ordered.zero()
    assert "cells" in both
    assert "other" not in both
    assert both.grows
    assert not Several.of({"cells": Grid.zero()}).grows


def test_other_names_do_not_merge():
    with pytest.raises(SummaryError, match=r"'a'.*'b'"):
        Several.of({"a": Grid.zero()}) + Several.of({"b": Grid.zero()})
