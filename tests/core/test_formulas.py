"""Names that are formulas, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core.formulas import readable


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"$\alpha$", "α"),
        (r"$\theta_{10}$", "θ₁₀"),
        (r"$\theta_1^2$", "θ₁²"),
        (r"$\sigma_{\mathrm{obs}}$", "σ_obs"),  # there is no b among the indices
        (r"$\log\sigma$", "log σ"),
        (r"$x_{i,j}$", "x_(i,j)"),
        (r"$\beta_{-1}$ and $\Gamma$", "β₋₁ and Γ"),
        (r"$R_0$", "R₀"),
        (r"$\mu_\beta$", "μᵦ"),
        (r"$\lambda'$", "λ'"),
    ],
)
def test_simple_formulas(formula, text):
    assert readable(formula) == text


@pytest.mark.parametrize(
    "name",
    [
        "theta",
        "$0-$100",
        "$$",
        "$",
        "$5_a or $6",
        r"\$\theta\$",
        r"$\frac{1}{2}$",
        r"$\theta_{$",
        r"$\theta_$",
        r"$}{$",
        "$abc$",
        r"$\unknown_1$",
        r"$\theta_{<script>}$",
        "$" + "x_1" * 30 + "$",
        r"$\def\a{\a\a}\a$",
    ],
)
def test_everything_else_stays(name):
    assert readable(name) == name


@given(st.text(alphabet="$\\_^{}abθ12 ()alphmu", max_size=60))
def test_any_text(text):
    """Nothing raises, and texts without a dollar are as they were."""
    found = readable(text)
    assert found == text if "$" not in text else isinstance(found, str)
