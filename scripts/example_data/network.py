"""A small network, and how it is fitted to labels or to numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]
AnyArrays = dict[str, NDArray[np.generic]]

SMOOTHING = 0.01  # of the check loss, in standard deviations of the outcome


@dataclass
class Network:
    """One hidden layer of tanh units, and outputs that are whatever the loss takes them for."""

    hidden_weights: FloatArray
    hidden_bias: FloatArray
    output_weights: FloatArray
    output_bias: FloatArray

    def parameters(self) -> list[FloatArray]:
        """List the arrays that training changes in place."""
        return [self.hidden_weights, self.hidden_bias, self.output_weights, self.output_bias]

    def hidden(self, X: FloatArray) -> FloatArray:
        """Give the activations of the hidden layer."""
        activations: FloatArray = np.tanh(X @ self.hidden_weights + self.hidden_bias)
        return activations

    def outputs(self, X: FloatArray) -> FloatArray:
        """Give the outputs, one row per row of `X`."""
        found: FloatArray = self.hidden(X) @ self.output_weights + self.output_bias
        return found


def softmax(logits: FloatArray) -> FloatArray:
    """Turn rows of logits into rows of probabilities."""
    # The largest logit is taken off first so that no exponential overflows.
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return shares


def sigmoid(x: FloatArray) -> FloatArray:
    """Map a log-odds to a probability."""
    probability: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return probability


def new_network(inputs: int, hidden: int, outputs: int, random: np.random.Generator) -> Network:
    """Draw starting weights scaled so that each layer keeps the variance of its input."""
    return Network(
        hidden_weights=random.normal(0.0, inputs**-0.5, (inputs, hidden)),
        hidden_bias=np.zeros(hidden),
        output_weights=random.normal(0.0, hidden**-0.5, (hidden, outputs)),
        output_bias=np.zeros(outputs),
    )


Slope = Callable[[FloatArray], FloatArray]
"""The derivative of a loss, summed over the rows, by the outputs of the network."""


def cross_entropy(labels: LabelArray, classes: int) -> Slope:
    """Differentiate the cross-entropy of outputs that are logits."""
    targets = np.eye(classes)[labels]
    return lambda outputs: softmax(outputs) - targets


def quantiles(outputs: FloatArray) -> FloatArray:
    """Turn outputs into quantiles that never cross: the lowest one, and logarithmic steps to the next ones."""
    steps = np.concatenate([outputs[:, :1], np.logaddexp(0.0, outputs[:, 1:])], axis=1)
    return steps.cumsum(axis=1)


def check_loss(y: FloatArray, levels: FloatArray) -> Slope:
    """Differentiate the check loss of outputs that are `quantiles`, with its corner rounded off.

    The corner is where a rounding error could grow: u ↦ τu becomes steeper by 1 at once where u changes sign. The
    smooth loss is τu + a log(1 + exp(-u / a)), as in Zheng (2011), Gradient descent algorithms for quantile regression.
    """

    def slope(outputs: FloatArray) -> FloatArray:
        gap = (y[:, np.newaxis] - quantiles(outputs)) / SMOOTHING
        by_quantile = sigmoid(np.clip(-gap, -700.0, 700.0)) - levels
        # An output moves its own quantile and all above it.
        found: FloatArray = by_quantile[:, ::-1].cumsum(axis=1)[:, ::-1]
        found[:, 1:] *= sigmoid(outputs[:, 1:])
        return found

    return slope


def gradients(network: Network, X: FloatArray, slope: Slope) -> list[FloatArray]:
    """Differentiate the mean loss, in the order of `Network.parameters`."""
    hidden = network.hidden(X)
    output_error = slope(hidden @ network.output_weights + network.output_bias) / len(X)
    hidden_error = (output_error @ network.output_weights.T) * (1.0 - hidden**2)
    return [X.T @ hidden_error, hidden_error.sum(axis=0), hidden.T @ output_error, output_error.sum(axis=0)]


def train(network: Network, X: FloatArray, slope: Slope, steps: int, decay: float) -> None:
    """Fit the network in place with Adam, the whole training set at each step.

    Three choices keep rounding errors from growing, so that another linear-algebra library lands on the
    same predictions: smooth units and losses, no random batches, and a learning rate that falls to zero. With a
    constant rate a difference of 1e-15 in the starting weights grew to 8e-5 in a churn probability.
    """
    parameters = network.parameters()
    means = [np.zeros_like(parameter) for parameter in parameters]
    squares = [np.zeros_like(parameter) for parameter in parameters]
    for step in range(1, steps + 1):
        rate = 0.01 * (1.0 - (step - 1) / steps)
        for parameter, gradient, mean, square in zip(
            parameters, gradients(network, X, slope), means, squares, strict=True
        ):
            penalised = gradient + decay * parameter
            np.add(0.9 * mean, 0.1 * penalised, out=mean)
            np.add(0.999 * square, 0.001 * penalised**2, out=square)
            unbiased_mean, unbiased_square = mean / (1.0 - 0.9**step), square / (1.0 - 0.999**step)
            np.subtract(parameter, rate * unbiased_mean / (np.sqrt(unbiased_square) + 1e-8), out=parameter)
