"""The compiled loops behind sums of kernels with a profile; importing them imports Numba, and the first call compiles.

They are functions of one module for the sake of Numba's cache on disk: it does not notice when a compiled function or a
constant of another module has changed, and never finds a function again that was defined inside another one and calls a
third.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import math

import numba
import numpy as np

CLASSES = 64  # of a panel at a time, which then stay in the cache; an even number


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def add_profile(dist, term, total, root, rate, a, b, turns, value):  # pragma: no cover
    """Add terms times the profile of their distances to `total`."""
    # Every loop runs over one line and becomes vector code; distances and terms are overwritten.
    turn_bits, value_bits = turns.view(np.int64), value.view(np.int64)
    m = dist.size
    if root:
        for j in range(m):
            dist[j] = math.sqrt(dist[j])
    # exp(-v) = 2^turn · exp(f), |f| <= ln(2) / 2: adding 1.5 · 2^52 rounds -v / ln 2 to an integer
    # and leaves it in the lowest bits, from where it goes to the exponent of the Taylor sum exp(f).
    for j in range(m):
        far = rate * dist[j]
        v = min(far, 708.0)
        turn = v * -1.4426950408889634 + 6755399441055744.0
        turns[j] = turn
        turn -= 6755399441055744.0
        f = -v - turn * 0.6931471803691238 - turn * 1.9082149292705877e-10
        e = f * (1 / 6227020800) + 1 / 479001600
        e = e * f + 1 / 39916800
        e = e * f + 1 / 3628800
        e = e * f + 1 / 362880
        e = e * f + 1 / 40320
        e = e * f + 1 / 5040
        e = e * f + 1 / 720
        e = e * f + 1 / 120
        e = e * f + 1 / 24
        e = e * f + 1 / 6
        e = e * f + 0.5
        e = e * f + 1.0
        value[j] = e * f + 1.0
        scaled = term[j] * (1.0 + v * (a + b * v))
        term[j] = scaled if far <= 708.0 else 0.0
    for j in range(m):
        value_bits[j] += turn_bits[j] << 52
    for j in range(m):
        total[j] += term[j] * value[j]


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def sum_differences(tiles, panels, weights, sets, sums, square, root, rate, a, b):  # pragma: no cover
    """Add the sums over tiles of points, whose distances come from differences of coordinates, to `sums`."""
    d, m = panels.shape[1], panels.shape[2]
    dist, term, turns, value, total = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for t in range(tiles.shape[0]):
        first, second = tiles[t, 0], tiles[t, 1]
        p, q, w, v = panels[first], panels[second], weights[first], weights[second]
        total[:] = 0.0
        for i in range(m):
            if w[i] == 0.0:
                continue
            dist[:] = 0.0
            for k in range(d):
                x, line = p[k, i], q[k]
                if square:
                    for j in range(m):
                        dist[j] += (line[j] - x) ** 2
                else:
                    for j in range(m):
                        dist[j] += abs(line[j] - x)
            for j in range(m):
                term[j] = w[i] * v[j]
            if first == second:
                term[: i + 1] = 0.0
            add_profile(dist, term, total, root, rate, a, b, turns, value)
        sums[sets[first], sets[second]] += total.sum()


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def sum_products(start, stop, G, p, q, w, v, same, root, rate, a, b):  # pragma: no cover
    """Return the sum over rows of a block of points, whose squared distances come from a product of matrices."""
    m = G.shape[1]
    dist, term, turns, value, total = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.zeros(m)
    for i in range(start, stop):
        for j in range(m):
            dist[j] = max(p[i] + q[j] - 2.0 * G[i, j], 0.0)
            term[j] = w[i] * v[j]
        if same:
            term[: i + 1] = 0.0
        add_profile(dist, term, total, root, rate, a, b, turns, value)
    return total.sum()


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def sum_classes(tiles, P, S, R, square, root, rate, a, b):  # pragma: no cover
    """Return the sum over tiles of rows of class probabilities."""
    # Four rows at a time meet a whole panel; every inner loop runs over the panel and becomes vector code.
    K, m = P.shape[1], P.shape[2]
    d, g = np.empty((m, m)), np.empty((m, m))
    turns, value = np.empty(m), np.empty(m)
    total = np.zeros(m)
    for t in range(tiles.shape[0]):
        p, s = P[tiles[t, 0]], S[tiles[t, 0]]
        q, r = P[tiles[t, 1]], R[tiles[t, 1]]
        for start in range(0, K, CLASSES):
            stop = min(start + CLASSES, K)
            for i in range(0, m, 4):
                at = i if K > CLASSES else 0  # few classes need the same four rows of d and g again and again
                d0, d1, d2, d3 = d[at], d[at + 1], d[at + 2], d[at + 3]
                g0, g1, g2, g3 = g[at], g[at + 1], g[at + 2], g[at + 3]
                if start == 0:
                    d[at : at + 4] = 0.0
                    g[at : at + 4] = 0.0
                for k in range(start, stop, 2):
                    p0, p1, p2, p3 = p[k, i], p[k, i + 1], p[k, i + 2], p[k, i + 3]
                    u0, u1, u2, u3 = p[k + 1, i], p[k + 1, i + 1], p[k + 1, i + 2], p[k + 1, i + 3]
                    s0, s1, s2, s3 = s[k, i], s[k, i + 1], s[k, i + 2], s[k, i + 3]
                    v0, v1, v2, v3 = s[k + 1, i], s[k + 1, i + 1], s[k + 1, i + 2], s[k + 1, i + 3]
                    qk, ql, rk, rl = q[k], q[k + 1], r[k], r[k + 1]
                    if square:
                        for j in range(m):
                            x, y = qk[j], ql[j]
                            d0[j] += (x - p0) ** 2 + (y - u0) ** 2
                            d1[j] += (x - p1) ** 2 + (y - u1) ** 2
                            d2[j] += (x - p2) ** 2 + (y - u2) ** 2
                            d3[j] += (x - p3) ** 2 + (y - u3) ** 2
                            x, y = rk[j], rl[j]
                            g0[j] += s0 * x + v0 * y
                            g1[j] += s1 * x + v1 * y
                            g2[j] += s2 * x + v2 * y
                            g3[j] += s3 * x + v3 * y
                    else:
                        for j in range(m):
                            x, y = qk[j], ql[j]
                            d0[j] += abs(x - p0) + abs(y - u0)
                            d1[j] += abs(x - p1) + abs(y - u1)
                            d2[j] += abs(x - p2) + abs(y - u2)
                            d3[j] += abs(x - p3) + abs(y - u3)
                            x, y = rk[j], rl[j]
                            g0[j] += s0 * x + v0 * y
                            g1[j] += s1 * x + v1 * y
                            g2[j] += s2 * x + v2 * y
                            g3[j] += s3 * x + v3 * y
                if stop < K:
                    continue
                if tiles[t, 0] == tiles[t, 1]:
                    for row in range(4):
                        g[at + row, : i + row + 1] = 0.0
                for row in range(at, at + 4):
                    add_profile(d[row], g[row], total, root, rate, a, b, turns, value)
    return total.sum()
