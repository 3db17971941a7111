"""Drawings of the ten digits on an 8 by 8 grid, shifted, slanted, thickened and covered in noise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from example_data.network import AnyArrays, FloatArray, LabelArray, cross_entropy, new_network, softmax, train

GRID = 8


def arc(centre: tuple[float, float], radii: tuple[float, float], start: float, stop: float) -> FloatArray:
    """Give points along part of an ellipse; angles are in degrees, from the right, downwards."""
    angles = np.radians(np.linspace(start, stop, 9))
    points: FloatArray = np.array(centre) + np.array(radii) * np.column_stack([np.cos(angles), np.sin(angles)])
    return points


def line(*points: tuple[float, float]) -> FloatArray:
    """Give the corners of a broken line."""
    return np.array(points)


# The pen strokes of each digit. x runs right and y runs down, both from -1 to 1.
STROKES: list[list[FloatArray]] = [
    [arc((0.0, 0.0), (0.55, 0.85), 0, 360)],
    [line((-0.35, -0.5), (0.05, -0.85), (0.05, 0.85))],
    [arc((0.0, -0.4), (0.5, 0.45), 180, 390), line((0.43, -0.18), (-0.5, 0.85), (0.55, 0.85))],
    [arc((-0.05, -0.42), (0.5, 0.43), 200, 450), arc((-0.05, 0.43), (0.55, 0.43), 270, 520)],
    [line((0.25, 0.85), (0.25, -0.85), (-0.55, 0.3), (0.6, 0.3))],
    [line((0.5, -0.85), (-0.4, -0.85), (-0.45, -0.1)), arc((-0.05, 0.35), (0.55, 0.5), 225, 510)],
    [line((0.35, -0.85), (-0.3, -0.2), (-0.52, 0.35)), arc((0.0, 0.38), (0.52, 0.47), 0, 360)],
    [line((-0.5, -0.85), (0.5, -0.85), (-0.1, 0.85))],
    [arc((0.0, -0.43), (0.43, 0.42), 0, 360), arc((0.0, 0.43), (0.52, 0.42), 0, 360)],
    [arc((0.0, -0.38), (0.52, 0.47), 0, 360), line((0.52, -0.35), (0.3, 0.85))],
]


def squared_distance(points: FloatArray, start: FloatArray, stop: FloatArray) -> FloatArray:
    """Measure from each point to the nearest place on one straight piece of a stroke."""
    along = stop - start
    position = ((points - start) @ along / (along @ along)).clip(0.0, 1.0)
    gap = points - start - position[..., np.newaxis] * along
    distance: FloatArray = (gap**2).sum(axis=-1)
    return distance


def pen_positions(count: int, random: np.random.Generator) -> FloatArray:
    """Place the pixels of `count` pictures in the frame of the glyph, of shape (count, 64, 2).

    Moving the pixels one way moves the drawing the other way, so each picture gets its own shift, rotation,
    slant and size.
    """
    axis = (np.arange(GRID) - (GRID - 1) / 2) / (GRID / 2)
    pixels = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    angle = random.normal(0.0, 0.16, count)
    slant = random.normal(0.0, 0.18, count)
    size = random.uniform(0.75, 1.15, (count, 2))
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([cosine, sine + slant], -1), np.stack([-sine, cosine], -1)], axis=-2)
    shift = random.normal(0.0, 0.13, (count, 1, 2))
    positions: FloatArray = ((pixels - shift) @ turn.transpose(0, 2, 1)) / size[:, np.newaxis, :]
    return positions


def draw_digits(labels: LabelArray, random: np.random.Generator) -> FloatArray:
    """Draw one 8 by 8 picture of each label, flattened to 64 intensities.

    Ink falls off smoothly from the stroke, the stroke width and the strength of the ink vary from picture to
    picture, and each pixel gets noise of its own. Some writers press so lightly that the noise wins.
    """
    count = len(labels)
    positions = pen_positions(count, random)
    width = random.uniform(0.13, 0.28, (count, 1))
    strength = random.uniform(0.45, 1.1, (count, 1))
    noise = random.normal(0.0, 0.11, (count, GRID * GRID))
    distance = np.full((count, GRID * GRID), np.inf)
    for digit, strokes in enumerate(STROKES):
        rows = labels == digit
        for stroke in strokes:
            for start, stop in pairwise(stroke):
                distance[rows] = np.minimum(distance[rows], squared_distance(positions[rows], start, stop))
    pictures: FloatArray = strength * np.exp(-distance / (2.0 * width**2)) + noise
    return pictures


def make_digits() -> AnyArrays:
    """Train the digit network on a thousand pictures and predict three thousand others."""
    random = np.random.default_rng(8128)
    training_labels = random.integers(0, 10, 1000).astype(np.int8)
    held_out_labels = random.integers(0, 10, 3000).astype(np.int8)
    training = draw_digits(training_labels, random)
    held_out = draw_digits(held_out_labels, random)
    network = new_network(GRID * GRID, 32, 10, random)
    train(network, training - 0.3, cross_entropy(training_labels, 10), steps=600, decay=0.0002)
    # Single precision halves the file and keeps small probabilities above zero, which rounding to a fixed
    # number of decimals would not; calibrant.examples makes the rows sum to one again on load.
    return {"y": held_out_labels, "P": softmax(network.outputs(held_out - 0.3)).astype(np.float32)}
