"""Bytes, compression and encodings of files."""

import builtins
import bz2
import gzip
import io
import lzma
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from adjudge.data.files import (
    COMPRESSIONS,
    SUFFIXES,
    Content,
    decode_content,
    decode_document,
    decompress,
    display_name,
    open_decompressed,
    read_bytes,
    read_content,
    to_utf8,
)
from adjudge.errors import AdjudgeWarning, InputError


def zstd(content: bytes) -> bytes:
    """Return content compressed with Zstandard."""
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def refusal(function: Any, *arguments: Any, **options: Any) -> str:
    """Return the message with which a call is refused."""
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    return str(caught.value)


def test_bytes_of_a_file(tmp_path: Path) -> None:
    """A file gives all its bytes, or the first ones."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"item,label")
    assert read_bytes(path) == b"item,label"
    assert read_bytes(str(path), 4) == b"item"


def test_bytes_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input, which has a name for people."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"item")))
    assert read_bytes("-") == b"item"
    assert (display_name("-"), display_name("a.csv")) == ("standard input", "a.csv")
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal(read_bytes, "-") == "standard input: is closed"


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder, an impossible name and a lack of permission each have a message."""
    missing, secret = tmp_path / "missing.csv", tmp_path / "secret.csv"
    assert refusal(read_bytes, missing) == f"{missing}: there is no such file"
    assert refusal(read_content, missing, "gold.csv") == "gold.csv: there is no such file"
    assert refusal(read_bytes, tmp_path) == f"{tmp_path}: is a folder, not a file"
    assert refusal(read_bytes, "a\0b") == "a\0b: there is no such file"

    def forbidden(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(builtins, "open", forbidden)  # root may read anything
    assert refusal(read_bytes, secret) == f"{secret}: cannot be read: Permission denied"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(encoding: str) -> None:
    """UTF-8 and UTF-16 are read with and without a byte order mark."""
    text = "item,Größe\nd1,日本\n"
    utf8, name = to_utf8(text.encode(encoding), "a.csv")
    assert utf8.decode() == text
    assert name == ("utf-8" if encoding.startswith("utf-8") else "utf-16")
    assert decode_document(text.encode(encoding)) == text


def test_windows_1252_is_read_with_a_warning() -> None:
    """A file that is not UTF-8 is read as windows-1252; the warning says where and what to do."""
    with pytest.warns(AdjudgeWarning) as caught:
        assert to_utf8(b"item\na\n\xe9t\xe9 \x80\n", "a.csv") == ("item\na\nété €\n".encode(), "windows-1252")
    assert [str(warning.message) for warning in caught] == [
        "a.csv, row 3: byte 0xe9 is not UTF-8, so the file is read as windows-1252; if names look wrong, save it as "
        "UTF-8"
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a\n\xff\n\x81", ", row 3: byte 0x81 is neither UTF-8 nor windows-1252 text; save the file as UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", ": is not text: give CSV, TSV, JSON lines or Parquet"),
        (b"\xff\xfea", ": looks like UTF-16 text but is not; save the file as UTF-8"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, problem: str) -> None:
    """Bytes in no known encoding are refused."""
    assert refusal(to_utf8, data, "a.csv") == f"a.csv{problem}"


def test_documents_are_read_whatever_their_bytes() -> None:
    """What cannot be decoded in a document is replaced, without a warning."""
    assert decode_document(b"caf\xe9 \x81") == "café \ufffd"


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    """Compression is recognised by the content, also if a file is compressed twice, and can be limited."""
    path = tmp_path / "a"
    path.write_bytes(PACK[suffix](b"hello\n" * 3))
    content = read_content(path)
    assert (content.text, content.compression) == ("hello\n" * 3, {c.suffix: c.name for c in COMPRESSIONS}[suffix])
    assert decompress(PACK[suffix](b"hello\n" * 3), "a", limit=18)[0] == b"hello\n" * 3
    assert decompress(gzip.compress(PACK[".xz"](b"twice")), "a")[0] == b"twice"
    assert refusal(decompress, PACK[suffix](b"hello\n" * 3), "a", limit=17) == "a: has more than 17 bytes"
    with open_decompressed(path) as lines:
        assert list(lines) == [b"hello\n"] * 3


def test_damaged_files(tmp_path: Path) -> None:
    """A damaged file is refused, whether it is read as a whole or a piece at a time."""
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"hello" * 99)[:-9])
    message = f"{path}: the compressed file is damaged or cut off"
    assert refusal(read_content, path) == message
    with pytest.raises(InputError) as caught, open_decompressed(path) as file:
        file.read()
    assert str(caught.value) == message
    path.unlink()
    with pytest.raises(InputError, match="there is no such file"), open_decompressed(path):
        pass


def test_empty_files() -> None:
    """An empty file is refused unless the caller allows it."""
    assert refusal(decode_content, b"\n", "a") == "a: the file is empty"
    assert decode_content(b"", "a", empty=True) == Content("a", b"")


def test_every_compression_has_a_suffix() -> None:
    """The table of compressions has the four that are tested here."""
    assert set(PACK) == SUFFIXES
