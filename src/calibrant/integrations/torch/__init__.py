"""Calibration of tensors on their device, in one process or many: see `TorchMetric`."""

from calibrant.integrations.torch.metric import TorchMetric

__all__ = ["TorchMetric"]
