"""Read arrays from an untrusted ``.npz`` file: the header is checked against the content.

NumPy allocates as much memory as a header claims. Here no array is larger than the reader expects, and nothing is
unpickled.
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

HEADER = 1_000  # maximum number of bytes before the numbers
# raised by zipfile, zlib and NumPy for damaged files
DAMAGES = (
    *(BadZipFile, zlib.error, struct.error, OSError, EOFError),
    *(KeyError, ValueError, TypeError, NotImplementedError, RuntimeError, OverflowError),
)


def read_arrays(content: bytes, names: Sequence[str], most: int) -> list[NDArray[Any]]:
    """Return arrays with one axis by name, each of at most ``most`` bytes; raise ValueError if one is damaged."""
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            return [_array(archive, f"{name}.npy", most) for name in names]
    except DAMAGES as error:
        raise ValueError(f"the arrays are damaged: {error}") from error


def _array(archive: ZipFile, name: str, most: int) -> NDArray[Any]:
    """Return one array of an archive."""
    about = archive.getinfo(name)
    if about.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or about.file_size > most + HEADER:
        raise ValueError(f"{name} has another compression, or is too large")
    with archive.open(about) as file:
        content = file.read(most + HEADER + 1)  # to the end, so that the checksum is verified
    if len(content) != about.file_size:
        raise ValueError(f"{name} has {len(content):,} bytes, expected {about.file_size:,}")
    stream = io.BytesIO(content)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} has another version")
    shape, _, dtype = npy.read_array_header_1_0(stream, HEADER)
    rest = len(content) - stream.tell()
    if dtype.kind not in "iuf" or len(shape) != 1 or shape[0] < 0 or shape[0] * dtype.itemsize != rest:
        raise ValueError(f"{name} claims {shape} of {dtype} in {rest:,} bytes")
    return np.frombuffer(content, dtype, offset=stream.tell())
