"""Arrays from files that are not trusted."""

import io
import zipfile

import numpy as np
import pytest

from adjudge.learn.array_file import HEADER, read_arrays


def packed(save=np.savez, **arrays):
    """Return the bytes of an archive of arrays."""
    held = io.BytesIO()
    save(held, **arrays)
    return held.getvalue()


def member(content, method=zipfile.ZIP_STORED):
    """Return an archive whose array ``a`` is of these bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        archive.writestr("a.npy", content)
    return held.getvalue()


def claimed(shape, data=b"", descr="<i8"):
    """Return the bytes of an array that claims a shape."""
    held = io.BytesIO()
    np.lib.format.write_array_header_1_0(held, {"descr": descr, "fortran_order": False, "shape": shape})
    return held.getvalue() + data


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_was_saved_is_read(save):
    """In the order asked for, with the types they had."""
    b, a = read_arrays(packed(save, a=np.arange(5), b=np.ones(3, np.float32)), ["b", "a"], 40)
    assert (a.tolist(), a.dtype, b.tolist(), b.dtype) == ([0, 1, 2, 3, 4], np.int64, [1, 1, 1], np.float32)
    assert read_arrays(packed(save, a=np.zeros(0)), ["a"], 0)[0].size == 0


WRONG = {  # made when asked for: an archive holds the time
    "nothing": lambda: b"",
    "cut off": lambda: b"PK\x03\x04 cut",
    "another name": lambda: packed(b=np.arange(5)),
    "two axes": lambda: packed(a=np.arange(5).reshape(5, 1)),
    "no axis": lambda: packed(a=np.array(5)),
    "text": lambda: packed(a=np.array(["x"])),
    "objects": lambda: packed(a=np.array([{}], object)),
    "too large": lambda: packed(a=np.arange(1000)),
    "much too large": lambda: packed(np.savez_compressed, a=np.zeros(10_000_000)),
    "no array": lambda: member(b""),
    "another version": lambda: member(b"\x93NUMPY\x02\x00"),
    "claims a petabyte": lambda: member(claimed((2**50,))),
    "claims less than nothing": lambda: member(claimed((-1,))),
    "claims what overflows": lambda: member(claimed((2**62,), descr="<f4")),
    "claims more than is there": lambda: member(claimed((2,), bytes(8))),
    "packed in another way": lambda: member(claimed((1,), bytes(8)), zipfile.ZIP_BZIP2),
    "a header without an end": lambda: member(b"\x93NUMPY\x01\x00\xff\xff{" + b"(" * 500),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_whole_is_refused(wrong):
    """Nothing, no such array, other shapes and kinds, more than is there, more than is expected."""
    with pytest.raises(ValueError, match="the arrays are damaged"):
        read_arrays(WRONG[wrong](), ["a"], 40)


def test_a_size_that_lies_takes_no_room():
    """An archive that says it unpacks to less than it does is cut off where it should end."""
    content = bytearray(packed(np.savez_compressed, a=np.zeros(50_000_000)))
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = (168).to_bytes(4, "little")
    with pytest.raises(ValueError, match="the arrays are damaged"):
        read_arrays(bytes(content), ["a"], 40)
    assert HEADER < 10_000


def test_every_byte_of_the_numbers_is_under_a_checksum():
    """A bit that flips there is found."""
    content = packed(a=np.arange(5))
    where = content.index(np.arange(5).tobytes())
    for n in range(40):
        turned = bytearray(content)
        turned[where + n] ^= 1
        with pytest.raises(ValueError, match="the arrays are damaged"):
            read_arrays(bytes(turned), ["a"], 40)
