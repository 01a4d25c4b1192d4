"""Arrays from the bytes of an ``.npz`` file that is not trusted: what it claims is held against what is there.

NumPy would make room for as many numbers as a header claims before it looks for them; here nothing is larger than the
reader expects, and nothing is unpickled.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

HEADER = 1_000  # bytes that may stand before the numbers
# what zipfile, zlib and NumPy answer to bytes that are no archive, no compressed stream and no array
DAMAGES = (
    *(BadZipFile, zlib.error, struct.error, OSError, EOFError),
    *(KeyError, ValueError, TypeError, NotImplementedError, RuntimeError, OverflowError),
)


def read_arrays(content: bytes, names: Sequence[str], most: int) -> list[NDArray[Any]]:
    """Return arrays with one axis by their names, each of ``most`` bytes at most; ValueError where one is not whole."""
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            return [_array(archive, f"{name}.npy", most) for name in names]
    except DAMAGES as error:
        raise ValueError(f"the arrays are not whole: {error}") from error


def _array(archive: ZipFile, name: str, most: int) -> NDArray[Any]:
    """Return one array of an archive."""
    about = archive.getinfo(name)
    if about.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or about.file_size > most + HEADER:
        raise ValueError(f"{name} is packed in another way, or too large")
    with archive.open(about) as file:
        held = file.read(most + HEADER + 1)  # to the end, where the checksum is looked at
    if len(held) != about.file_size:
        raise ValueError(f"{name} has {len(held):,} bytes, expected {about.file_size:,}")
    stream = io.BytesIO(held)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is of another version")
    shape, _, dtype = npy.read_array_header_1_0(stream, HEADER)
    rest = len(held) - stream.tell()
    if dtype.kind not in "iuf" or len(shape) != 1 or shape[0] < 0 or shape[0] * dtype.itemsize != rest:
        raise ValueError(f"{name} claims {shape} of {dtype} in {rest:,} bytes")
    return np.frombuffer(held, dtype, offset=stream.tell())
