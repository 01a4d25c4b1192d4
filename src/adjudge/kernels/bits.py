"""Draws of truths stored as bits: one draw needs log2(K) bits per item, rounded up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes


def pack(truth: Codes, labels: int) -> NDArray[np.uint8]:
    """Return truths (I) as planes of bits, the lowest first, eight items per byte (B, I / 8)."""
    plane = np.arange(max(1, (labels - 1).bit_length()))[:, None]
    return np.packbits((truth >> plane & 1).astype(np.uint8), axis=1)


def unpack(bits: NDArray[np.uint8], items: int) -> Codes:
    """Return truths (..., I) from planes of bits (..., B, I / 8)."""
    planes = np.unpackbits(bits, axis=-1, count=items).astype(np.int32)
    truth: Codes = (planes << np.arange(bits.shape[-2])[:, None]).sum(axis=-2)
    return truth
