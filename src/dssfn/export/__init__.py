"""Trained models as ONNX, which runs without this package."""

from __future__ import annotations

from dssfn.export.onnx_model import to_onnx

__all__ = ["to_onnx"]
