"""Sets: bool and nothing else, with a level or without, sizes, parts of them."""

import numpy as np
import pytest

from calibrant import Sets
from calibrant.inputs.sets import MAX_LABELS_ADDED_SINGLY

MASK = np.array([[True, False, True], [False, False, False], [True, True, True]])


class TestMade:
    def test_one_level_or_none(self):
        found = Sets(MASK, 0.9)
        assert (found.n, found.K, found.single) == (3, 3, True)
        assert found.sizes.tolist() == [[2], [0], [3]]
        assert repr(found) == "Sets(n=3, K=3, level=0.9)"
        assert Sets(MASK).levels is None
        assert repr(Sets(MASK)) == "Sets(n=3, K=3)"

    def test_several_levels(self):
        found = Sets(np.stack([MASK, ~MASK], axis=2), [0.9, 0.5])
        assert found.sizes.tolist() == [[2, 1], [0, 3], [3, 0]]
        assert found.at(0.5).sizes.tolist() == [[1], [3], [0]]
        assert repr(found) == "Sets(n=3, K=3, level=[0.9, 0.5])"

    def test_read_only_and_apart_from_what_was_given(self):
        mask = MASK.copy()
        found = Sets(mask)
        mask[:] = False
        assert found.mask.sum() == 5
        assert not found.mask.flags.writeable

    def test_frames(self, require):
        pd, pl = require("pandas"), require("polars")
        columns = {"a": [True, False], "b": [True, True]}
        for frame in (pd.DataFrame(columns), pd.DataFrame(columns).astype("boolean"), pl.DataFrame(columns)):
            assert Sets(frame).sizes[:, 0].tolist() == [2, 1]

    @pytest.mark.parametrize("K", [2, MAX_LABELS_ADDED_SINGLY, MAX_LABELS_ADDED_SINGLY + 1, 300])
    def test_sizes_of_many_labels(self, K):
        mask = np.random.default_rng(0).random((20, K, 2)) < 0.9
        found = Sets(mask).sizes
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, mask.sum(axis=1))
        assert Sets(np.ones((1, K), bool)).sizes.tolist() == [[K]]

    def test_take(self):
        found = Sets(MASK, 0.9)
        assert found.take(np.array([2, 0])).sizes.tolist() == [[3], [2]]
        assert np.shares_memory(found.take(slice(0, 2)).mask, found.mask)


TWO = np.stack([MASK, MASK], axis=2)
NO_BOOL = "mask must be bool, whether a label is in the set; got values of type "
NO_SHAPE = "mask must have shape (n, K), or (n, K, L) for L levels, K >= 2"
LISTS = "[[k in labels for k in classes] for labels in sets]"
REFUSED = [
    (([[0.7, 0.3]],), {}, [NO_BOOL, "Compare probabilities with a threshold first"]),
    (([[0, 1]],), {}, [NO_BOOL, "Convert a mask of 0 and 1 with .astype(bool)"]),
    (([["a", "b"], ["b", "c"]], 0.9), {}, [NO_BOOL, "Turn lists of labels into a mask first", LISTS]),
    (([{0, 1}, {2}], 0.9), {}, [NO_BOOL, "Turn lists of labels into a mask first", LISTS]),
    (([[0, 1], [2]], 0.9), {}, LISTS),
    *(((mask,), {}, NO_SHAPE) for mask in ([True, False], [[True], [False]], np.ones((1, 2, 1, 1), bool))),
    ((np.zeros((0, 3), bool),), {}, "there are no rows: mask is empty (shape (0, 3))"),
    ((MASK, [0.9]), {}, "a mask of shape (n, K) has one level; got [0.9]"),
    ((TWO, 0.9), {}, "a mask of shape (n, K, 2) needs a list of 2 levels; got 0.9"),
    ((TWO, [0.5]), {}, "level must give one number per last axis of mask; got 1 for 2"),
    (([[[True], [False]]], 0.9), {}, "Pass level=[0.9], or mask[:, :, 0]"),
    ((MASK, 90), {}, "Divide percentages"),
    (([[True, False]],), {"alpha": 0.1}, "Sets has no argument alpha. Pass nominal coverage instead: level=0.9"),
    (([[True, False]],), {"levels": 0.1}, "Did you mean level=?"),
    ((), {}, "Sets needs mask. Call it as Sets(mask, level)"),
]


def test_refused(refuses, refusal):
    refuses(lambda args, given: Sets(*args, **given), REFUSED)
    assert refusal(Sets(MASK).at, 0.9) == "these sets have no level; pass Sets(mask, level)"
    assert refusal(Sets(MASK, 0.9).at, 0.8) == "there is no level 0.8; there are 0.9"
