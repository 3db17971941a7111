"""Are two sets of points of one law? Tests and distances of the whole."""

from __future__ import annotations

from calibrant.audit.point_look import Compared, PointLook, measured
from calibrant.audit.words import percent
from calibrant.errors import NotApplicableError
from calibrant.inference.c2st import c2st
from calibrant.inference.mmd_test import mmd_test
from calibrant.inputs.weights import FloatArray
from calibrant.metrics.expected_frechet import expected_frechet
from calibrant.metrics.frechet_distance import frechet_distance
from calibrant.metrics.kernel_distance import kernel_distance
from calibrant.metrics.mmd import mmd
from calibrant.primitives.dispatch import takes_tree
from calibrant.results import Measurement, Section
from calibrant.summaries.point_moments import PointMoments

MOST_PERMUTED = 1500  # points of each set in the permutation test
MOST_PAIRS = 10_000  # points of each set in sums over all pairs, and for the classifier in many dimensions
MOST_CLASSIFIED = 20_000  # points of each set for the classifier, in few dimensions
LARGEST_COVARIANCE = 4096  # coordinates up to which the Fréchet distance is shown


def kernel_look(compared: Compared) -> PointLook:
    """Test by the maximum mean discrepancy over twenty kernels, and show the distances of the field."""
    used = compared.few(MOST_PERMUTED)
    test = mmd_test(used.y, used.points, aggregate="fuse", resamples=compared.resamples, rng=compared.rng)
    pairs = compared.few(MOST_PAIRS)
    found = [
        measured(
            compared,
            "mmd_test",
            "MMD over 20 kernels, fused",
            float(test.statistic),
            pvalue=float(test.pvalue),
            method=test.method,
        ),
        measured(
            compared,
            "mmd",
            "MMD², Gaussian kernel, median distance",
            mmd(pairs.y, pairs.points, rng=compared.rng),
            expected=0.0,
            method="unbiased, may be negative",
        ),
        *_frechet(compared, compared.sets.y, compared.sets.points),
        measured(
            compared,
            "kernel_distance",
            "kernel distance (KID)",
            kernel_distance(pairs.y, pairs.points),
            expected=0.0,
            method="unbiased, polynomial kernel of degree 3; depends on the units of the coordinates",
        ),
    ]
    section = Section(
        "distances",
        "Distances of the whole",
        "How far apart are the two laws, and could chance do that?",
        tuple(found),
    )
    caveats = (
        *compared.fewer_words(used, "The permutation test of the MMD looks at a part"),
        *compared.fewer_words(pairs, "Sums over all pairs are of a part"),
    )
    return PointLook(section, float(test.pvalue), (), caveats)


def _frechet(compared: Compared, y: FloatArray, points: FloatArray) -> tuple[Measurement, ...]:
    if compared.sets.d > LARGEST_COVARIANCE:
        return ()
    floor = expected_frechet(PointMoments.of(y), PointMoments.of(points))
    return (
        measured(
            compared,
            "frechet_distance",
            "Fréchet distance, squared",
            frechet_distance(y, points),
            expected=floor,
            method="of the normal laws with these means and covariances; what is expected is what chance adds to 0",
        ),
    )


def classifier_look(compared: Compared) -> PointLook:
    """Test whether a classifier tells held-out points of the two sets apart."""
    title, intro = "A classifier", "Can the two sets be told apart, point by point?"
    used = compared.few(MOST_CLASSIFIED if takes_tree(compared.sets.d) else MOST_PAIRS)
    try:
        test = c2st(used.y, used.points, rng=compared.rng)
    except NotApplicableError as reason:
        return PointLook(Section("classifier", title, intro, ()), None, (), (f"No classifier: {reason}.",))
    share, area = float(test.estimate), float(test.statistic)
    section = Section(
        "classifier",
        title,
        intro,
        (
            measured(
                compared,
                "c2st",
                "held-out area under the curve (C2ST)",
                area,
                expected=0.5,
                pvalue=float(test.pvalue),
                method=test.method,
            ),
            measured(compared, "c2st.accuracy", "balanced accuracy on held-out points", share, expected=0.5),
        ),
    )
    often = percent(share)
    said = f"A classifier of nearest neighbours tells held-out points apart {often} of the time; guessing is 50 %."
    return PointLook(
        section,
        float(test.pvalue),
        (said,),
        compared.fewer_words(used, "The classifier sees a part"),
    )
