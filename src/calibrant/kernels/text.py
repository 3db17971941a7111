"""Kernels as text, so that a summary that depends on one can be stored and read back."""

from __future__ import annotations

import json
from typing import Any

from calibrant.errors import SummaryError
from calibrant.kernels.kernel import JointKernel, Kernel, Product
from calibrant.kernels.point_kernels import PointKernel, Polynomial
from calibrant.kernels.shapes import Delta, Exponential, Gaussian, Matern32, Matern52, RationalQuadratic

KINDS: dict[str, type[Kernel]] = {
    kind.__name__: kind for kind in (Exponential, Gaussian, Matern32, Matern52, RationalQuadratic, Delta)
}


def text_of(kernel: Product | JointKernel) -> str:
    """Return a product of kernels as text; kernels and distances of one's own are refused."""
    if isinstance(kernel, JointKernel):
        raise _refusal(kernel)
    return json.dumps([_described(kernel.prediction), _described(kernel.target)])


def kernel_of(text: str) -> Product:
    """Return the kernels that `text_of` wrote."""
    prediction, target = (_built(described) for described in json.loads(text))
    return Product(prediction, target)


def text_of_point_kernel(kernel: PointKernel) -> str:
    """Return a kernel of points as text; kernels and distances of one's own are refused."""
    if isinstance(kernel, Polynomial):
        return json.dumps({"kind": "Polynomial", "degree": kernel.degree})
    return json.dumps(_described(kernel))


def point_kernel_of(text: str) -> PointKernel:
    """Return the kernel that `text_of_point_kernel` wrote."""
    described = json.loads(text)
    return Polynomial(described["degree"]) if described.get("kind") == "Polynomial" else _built(described)


def _described(kernel: Kernel) -> dict[str, Any]:
    if KINDS.get(type(kernel).__name__) is not type(kernel) or callable(kernel.distance):
        raise _refusal(kernel)
    if isinstance(kernel, Delta):
        return {"kind": "Delta"}
    described = {"kind": type(kernel).__name__, "lengthscale": kernel.lengthscale, "distance": kernel.distance}
    return {**described, "alpha": kernel.alpha} if isinstance(kernel, RationalQuadratic) else described


def _built(described: dict[str, Any]) -> Kernel:
    options = dict(described)
    kind = KINDS.get(options.pop("kind", ""))
    if kind is None:
        raise SummaryError(f"these bytes name a kernel that calibrant does not have: {described}")
    return kind(**options)


def _refusal(kernel: object) -> SummaryError:
    return SummaryError(f"a kernel or distance of one's own has no form as bytes: {kernel!r}; merge in memory instead")
