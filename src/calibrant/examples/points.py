"""An example of two sets of points: real ones, and generated ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.examples.archives import frozen, load


@dataclass(frozen=True, eq=False)
class GeneratedExample:
    """Held-out data, and what a generative model makes instead.

    Attributes
    ----------
    y : ndarray of float32, shape (899, 8)
        Real points: a picture each, in principal components.
    points : ndarray of float32, shape (899, 8)
        Generated points.
    columns : tuple of str
        What the coordinates are, ``"component_1"`` to ``"component_8"``.
    """

    y: NDArray[np.float32]
    points: NDArray[np.float32]
    columns: tuple[str, ...]


def generated() -> GeneratedExample:
    """Load handwritten digits in eight numbers each, and as many draws of a mixture that was fitted to others.

    The pictures are real: the 1,797 digits of 8 by 8 pixels that come with scikit-learn. Principal components, and a
    mixture of four Gaussian laws in eight of them, were fitted to half of the pictures; these are the components of the
    other half and draws of the mixture. Four laws are too few for ten digits, so that each covers several, and what
    lies between them. Means and covariances are right nevertheless, as they are in every fitted mixture.

    Returns
    -------
    GeneratedExample
        The real and the generated points and the names of their coordinates, read-only.

    Notes
    -----
    The pictures are the test part of E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI
    Machine Learning Repository, https://doi.org/10.24432/C50P49, licence CC BY 4.0.

    Examples
    --------
    >>> from calibrant import examples
    >>> digits = examples.generated()
    >>> digits.y.shape, digits.points.shape
    ((899, 8), (899, 8))

    The spread of each coordinate is about the same:

    >>> [round(float(sd), 1) for sd in digits.y.std(axis=0)]
    [0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5, 0.4]
    >>> [round(float(sd), 1) for sd in digits.points.std(axis=0)]
    [0.8, 0.8, 0.8, 0.6, 0.5, 0.5, 0.4, 0.4]
    """
    arrays = load("generated.npz")
    return GeneratedExample(frozen(arrays["y"]), frozen(arrays["points"]), tuple(arrays["columns"].tolist()))
