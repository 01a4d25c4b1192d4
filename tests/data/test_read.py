"""Files of every kind, whole and broken, and judgments that come back as they went."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.data import files
from adjudge.data.exports import EXPORTS
from adjudge.data.formats import READERS, open_source
from adjudge.data.judgments import Judgments, judgment_table
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.data.write import table_text
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, UsageError

CSV = "item,judge,label\na,x,no\nb,y,yes\n"
ROWS = [("a", "x", "no"), ("b", "y", "yes")]
JSON = '{"item": "a", "judge": "x", "label": "no"}\n{"item": "b", "judge": "y", "label": "yes"}\n'
TABLE = pl.DataFrame(ROWS, schema=["item", "judge", "label"], orient="row")
WIDE = "4 values, expected 3 as in the header; a value that contains ',' needs quotation marks"
NO_NAME = "is not JSON (Expecting property name enclosed in double quotes); give one object per line"
QUOTES = "put the whole value in quotation marks, and double those inside it"
DAMAGED = "the Parquet file is damaged, or was cut off while it was written or copied"

Write = Callable[..., str]


def zstd(content: bytes) -> bytes:
    """Return content packed with Zstandard."""
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes a file, here, and returns its name."""
    monkeypatch.chdir(tmp_path)

    def written(content: str | bytes, name: str = "labels.csv") -> str:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return written


def rows_of(judgments: Judgments) -> list[tuple[Any, ...]]:
    """Return judgments as rows of names."""
    return judgment_table(judgments).rows()


def refusal(data: Any, **options: Any) -> str:
    """Return what a file is refused with: one line."""
    with pytest.raises(AdjudgeError) as caught:
        read(data, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.csv", CSV),
        ("LABELS.CSV", CSV),
        ("labels", CSV),
        ("labels.2024", CSV),
        ("labels.csv", CSV.rstrip("\n")),
        ("labels.csv", CSV.replace("\n", "\r\n")),
        ("labels.csv", CSV.replace("\n", "\r")),
        ("labels.csv", "\ufeff" + CSV),
        ("labels.csv", CSV.replace(",", ";")),
        ("labels.csv", CSV.replace(",", "|")),
        ("labels.csv", CSV.replace(",", "\t")),
        ("labels.csv", CSV.replace(",", " , ")),
        ("labels.csv", CSV.replace("\n", "\n\n")),
        ("labels.csv", "\r\n\n" + CSV),
        ("labels.csv", CSV + ",,\n"),
        ("labels.csv", '"item","judge","label"\n"a","x","no"\nb,"y",yes\n'),
        ("labels.csv", ",item,,judge, ,label\n0,a,,x,,no\n1,b,,y,,yes\n"),
        ("labels.tsv", CSV.replace(",", "\t")),
        ("labels.tab", CSV.replace(",", "\t")),
        ("labels.jsonl", JSON),
        ("labels.ndjson", JSON.replace("\n", "\r\n")),
        ("labels.json", "\ufeff" + JSON),
        ("labels", JSON.replace("\n", "\n\n")),
        ("labels.parquet", table_text(TABLE, "parquet")),
        ("labels.pq", table_text(TABLE, "parquet")),
        ("labels[1]*.parquet", table_text(TABLE, "parquet")),
        ("labels", table_text(TABLE, "parquet")),
        ("labels.csv", table_text(TABLE, "parquet")),
    ],
)
def test_formats(write: Write, name: str, content: str | bytes) -> None:
    """The same judgments are read from every format, told by the content or the file's name."""
    assert rows_of(read(write(content, name))) == ROWS


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "windows-1252"])
@pytest.mark.parametrize(("name", "content"), [("labels.csv", CSV), ("labels.jsonl", JSON)])
@pytest.mark.filterwarnings("ignore::adjudge.errors.AdjudgeWarning")
def test_encodings(write: Write, encoding: str, name: str, content: str) -> None:
    """The same judgments are read from every encoding, which the judgments remember."""
    judgments = read(
        write(content.replace("yes", "oui, très").replace(",oui, très", ",oui très").encode(encoding), name)
    )
    assert judgments.scale.labels[0] == "no"
    assert "très" in judgments.scale.names[1]
    assert judgments.origin is not None
    assert judgments.origin.encoding == encoding.removesuffix("-le")


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(("kind", "content"), [("csv", CSV), ("tsv", CSV.replace(",", "\t")), ("jsonl", JSON)])
def test_compressed(write: Write, suffix: str, kind: str, content: str) -> None:
    """Text is read compressed, by whatever name."""
    packed = PACK[suffix](content.encode())
    assert rows_of(read(write(packed, f"labels.{kind}{suffix}"))) == ROWS
    assert rows_of(read(write(packed, f"labels.{kind}"))) == ROWS


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_parquet(write: Write, suffix: str) -> None:
    """A Parquet file packed once more is read."""
    packed = PACK[suffix](table_text(TABLE, "parquet"))
    assert rows_of(read(write(packed, f"labels.parquet{suffix}"))) == ROWS


@pytest.mark.parametrize(
    "content",
    [CSV.encode(), JSON.encode(), table_text(TABLE, "parquet"), gzip.compress(CSV.encode())],
    ids=["csv", "jsonl", "parquet", "gzip"],
)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """A dash reads standard input, whose format the content tells."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert rows_of(read("-")) == ROWS


def test_errors_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input has a name in messages."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"item,judge,label\na,x,\n")))
    assert refusal("-") == "standard input, row 2: every label is missing (column 'label')"


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.parquet"])
def test_a_pipe(tmp_path: Path, name: str) -> None:
    """A named pipe, as in <(zcat labels.csv.gz), is read once from beginning to end."""
    path = tmp_path / name
    os.mkfifo(path)
    content = CSV.encode() if name.endswith("csv") else table_text(TABLE, "parquet")
    writer = threading.Thread(target=path.write_bytes, args=[content])
    writer.start()
    assert rows_of(read(path)) == ROWS
    writer.join()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames(kind: str) -> None:
    """A frame of any library is read, and its kind remembered."""
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind](TABLE.to_dict(as_series=False))
    judgments = read(frame)
    assert rows_of(judgments) == ROWS
    assert judgments.kind == kind


def test_columns_and_scale_are_given(write: Write) -> None:
    """Columns whose names are not usual are named, and the scale and its order are given."""
    path = write("what,who,says,about,counts,at\na,x,no,t,2,9:00\nb,y,yes,u,1,9:01\n")
    named = {"item": "what", "judge": "who", "label": "says", "topic": "about", "weight": "counts", "time": "at"}
    judgments = read(path, **named, labels=["yes", "perhaps", "no"], ordinal=True)
    assert rows_of(judgments) == [("a", "x", "no", "t", 2.0, "9:00"), ("b", "y", "yes", "u", 1.0, "9:01")]
    assert judgments.scale.labels == ("yes", "perhaps", "no")
    assert judgments.scale.ordinal


def test_values_hold_anything_that_is_quoted(write: Write) -> None:
    """Separators, line breaks and quotation marks are read where they are quoted."""
    path = write('item,judge,label\n"a,b","x\ny","5"" disk"\n')
    assert rows_of(read(path)) == [("a,b", "x\ny", '5" disk')]


@pytest.mark.parametrize(("how", "left", "gone"), [("merge", 3, 1), ("drop", 2, 2)])
def test_repeats_are_counted(write: Write, how: str, left: int, gone: int) -> None:
    """Repeats that are left out are counted in a warning."""
    path = write("item,judge,label\na,x,1\na,x,1\na,x,2\nb,x,1\n")
    with pytest.warns(AdjudgeWarning) as caught:
        judgments = read(path, repeats=how)
    assert len(judgments) == left
    assert [str(warning.message) for warning in caught] == [f"repeats: {how} left out {gone} judgments"]
    assert len(read(path)) == 4


def test_judgments_are_read_already() -> None:
    """Judgments pass through, repeats can still be left out, and other options come too late."""
    judgments = read(pl.DataFrame({"item": ["a", "a"], "judge": ["x", "x"], "label": [1, 1]}))
    assert read(judgments) is judgments
    with pytest.warns(AdjudgeWarning):
        assert len(read(judgments, repeats="drop")) == 1
    late = "these judgments are read already: give columns, labels and format when they are read"
    for options in ({"item": "task"}, {"labels": np.array([0, 1])}, {"ordinal": True}, {"format": "csv"}):
        assert refusal(judgments, **options) == late


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "labels.csv: the file is empty"),
        ("\n \r\n", "labels.csv: the file is empty"),
        ("\ufeff", "labels.csv: the file is empty"),
        ("item,judge,label", "labels.csv: the file has a header but no rows"),
        ("item,judge,label\n\n,,\n", "labels.csv: the file has a header but no rows"),
        (CSV + 'c,"",no\n', "labels.csv, row 4: the judge (column 'judge') is empty"),
        (CSV + "\n\nc,,no\n", "labels.csv, row 6: the judge (column 'judge') is empty"),
        ("\n\n" + CSV + "c,,no\n", "labels.csv, row 6: the judge (column 'judge') is empty"),
        (CSV + '"c\nc",z,no\nd,,no\n', "labels.csv, row 6: the judge (column 'judge') is empty"),
        ('item,judge,label,"a\nb"\nc,,no,1\n', "labels.csv, row 3: the judge (column 'judge') is empty"),
        (CSV.replace("\n", "\r\n") + "c,,no\r\n", "labels.csv, row 4: the judge (column 'judge') is empty"),
        (CSV + "c,z,no,1\n", f"labels.csv, row 4: {WIDE}"),
        ("\n" + CSV + '"c\nd",z,"no"\n"c",z,no,1\n', f"labels.csv, row 7: {WIDE}"),
        (CSV + '"c,z,no\nd,z,no\n', f"labels.csv, row 4: a quotation mark is opened and not closed: {QUOTES}"),
        (CSV + 'c,"z,no\n', f"labels.csv, row 4: a quotation mark is opened and not closed: {QUOTES}"),
        (CSV + '"c,z,no\n' * 60_000, f"labels.csv, row 4: there is a quotation mark inside a value: {QUOTES}"),
        (CSV + '"c' + ",z,no\n" * 60_000, f"labels.csv, row 4: a quotation mark is opened and not closed: {QUOTES}"),
        (CSV + '5" disk,z,no\n', f"labels.csv, row 4: there is a quotation mark inside a value: {QUOTES}"),
        (
            CSV + '"5"" disk",z,no\n5" disk,z,no\n',
            f"labels.csv, row 5: there is a quotation mark inside a value: {QUOTES}",
        ),
        (CSV + '"c"d,z,no\n', f"labels.csv, row 4: there is a quotation mark inside a value: {QUOTES}"),
        ("item,judge,label,label\na,x,no,1\n", "labels.csv, row 1: two columns are called 'label': rename one"),
        ("item,judge,label, label\na,x,no,1\n", "labels.csv, row 1: two columns are called 'label': rename one"),
        ("\nitem,note,judge,label,note\na,,x,no,1\n", "labels.csv, row 2: two columns are called 'note': rename one"),
        (
            CSV.encode() + b"c,z,n\x81\n",
            "labels.csv, row 4: byte 0x81 is neither UTF-8 nor windows-1252 text; save the file as UTF-8",
        ),
        (
            b"PK\x03\x04" + CSV.encode(),
            "labels.csv: the compressed file is damaged or cut off",
        ),
    ],
)
def test_broken_separated_values(write: Write, content: str | bytes, message: str) -> None:
    """Whatever is wrong in a CSV file is said in one line, with the line where it is."""
    assert refusal(write(content)) == message


def test_a_column_may_be_called_as_polars_calls_repeated_ones(write: Write) -> None:
    """A name that polars would give to a second column is a name."""
    path = write("item,judge,label,label_duplicated_0\na,x,no,1\n")
    assert rows_of(read(path)) == [("a", "x", "no")]


def test_a_label_outside_the_scale(write: Write) -> None:
    """A label outside the given scale is refused with what to do."""
    path = write(CSV + "c,z,maybe\n")
    assert refusal(path, labels=["no", "yes"]) == (
        "labels.csv, row 4: label 'maybe' is not one of 'no', 'yes' (give labels= to extend the scale)"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            JSON + '{"item": "c"\n',
            "labels.jsonl, row 3: is not JSON (Expecting ',' delimiter); give one object per line",
        ),
        (
            JSON + '\n\n{"item": "c", "judge": null, "label": "no"}\n',
            "labels.jsonl, row 5: the judge (column 'judge') is empty",
        ),
        (JSON + '{"item": "c", "label": "no"}\n', "labels.jsonl, row 3: the judge (column 'judge') is empty"),
        (
            JSON + "[1, 2]\n",
            "labels.jsonl, row 3: is JSON but not an object with named values; give one object per line",
        ),
        (
            f"[{JSON.splitlines()[0]}]",
            "labels.jsonl, row 1: is JSON but not an object with named values; give one object per line",
        ),
        (
            "{\n" + JSON.splitlines()[0][1:],
            f"labels.jsonl, row 1: {NO_NAME}",
        ),
        (
            JSON + '{"item": "c", "judge": "z", "label": NaN}\n',
            "labels.jsonl, row 3: is not JSON (NaN is not a JSON value); give one object per line",
        ),
        (
            JSON + '{"item": "c", "judge": "z", "label": ["no"]}\n',
            "labels.jsonl, row 3: 'label' holds a list or record in some rows and not in others",
        ),
        (
            '{"item": "c", "judge": "z", "label": {"is": 1}}\n{"item": "c", "judge": "z", "label": 1}\n',
            "labels.jsonl, row 2: 'label' holds a list or record in some rows and not in others",
        ),
        (
            '{"item": "c", "judge": "z", "label": {"is": "no"}}\n',
            "labels.jsonl: column 'label' holds lists, records or objects, not one label per row",
        ),
        (
            JSON.encode() + b'{"item": "\x81"}\n',
            "labels.jsonl, row 3: byte 0x81 is neither UTF-8 nor windows-1252 text; save the file as UTF-8",
        ),
        (
            JSON + '{"item": "a\u2028b",\n',
            f"labels.jsonl, row 3: {NO_NAME}",
        ),
        (
            "{}\n",
            "labels.jsonl: no column for the item (columns: none); "
            "usual names are item, task, doc, document, question, unit, docno, passage, instance, example, "
            "sample, or name it with item=",
        ),
    ],
)
def test_broken_json_lines(write: Write, content: str | bytes, message: str) -> None:
    """Whatever is wrong in a file of JSON lines is said in one line, with the line where it is."""
    assert refusal(write(content, "labels.jsonl")) == message


def test_text_in_brackets_is_text(write: Write) -> None:
    """A label that looks like a list is a label, and lists in a column without a role do not matter."""
    rows = [
        '{"item": "a", "judge": "x", "label": "[no]", "tags": 1}',
        '{"item": "b", "judge": "y", "label": "yes", "tags": "t"}',
    ]
    path = write("\n".join([*rows, '{"item": "c", "judge": "z", "label": "yes", "tags": ["t"]}']), "labels.jsonl")
    assert read(path).scale.labels == ("[no]", "yes")


def parquet(**columns: Any) -> bytes:
    """Return a Parquet file."""
    return table_text(pl.DataFrame(columns), "parquet")


GOOD = parquet(item=[f"i{n}" for n in range(500)], judge=["x"] * 500, label=[1] * 500)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "labels.parquet: the file is empty"),
        (CSV.encode(), "labels.parquet: is not a Parquet file"),
        (GOOD[50:], "labels.parquet: is not a Parquet file"),
        (GOOD[:-50], f"labels.parquet: {DAMAGED}"),
        (GOOD[:4], f"labels.parquet: {DAMAGED}"),
        (GOOD[:10] + bytes(100) + GOOD[110:], f"labels.parquet: {DAMAGED}"),
        (
            parquet(item=["a", None], judge=["x", "y"], label=[1, 2]),
            "labels.parquet, row 1: the item (column 'item') is empty",
        ),
        (pl.Series(dtype=pl.Int8), "labels.parquet: holds no rows"),
        (
            parquet(item=["a"], judge=["x"], label=[["no"]]),
            "labels.parquet: column 'label' holds lists, records or objects, not one label per row",
        ),
    ],
    ids=["empty", "csv", "front", "end", "start", "middle", "null", "no rows", "nested"],
)
def test_broken_parquet(write: Write, content: Any, message: str) -> None:
    """A Parquet file that is none, or not whole, is said to be so; rows count from 0."""
    if isinstance(content, pl.Series):
        content = parquet(item=content, judge=content, label=content)
    assert refusal(write(content, "labels.parquet")) == message


def test_a_panic_of_polars_is_said_in_a_sentence(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where polars panics at a damaged file, which is no Exception, the user reads the same line."""

    def panic(*_: Any, **__: Any) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    path = write(GOOD, "labels.parquet")
    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    assert refusal(path) == f"labels.parquet: {DAMAGED}"


@pytest.mark.parametrize("suffix", PACK)
def test_damaged_compression(write: Write, suffix: str) -> None:
    """A compressed file that is cut off or damaged is said to be so."""
    packed = PACK[suffix]((CSV * 50).encode())
    message = f"labels.csv{suffix}: the compressed file is damaged or cut off"
    assert refusal(write(packed[:-9], f"labels.csv{suffix}")) == message
    if suffix != ".zst":  # whose frames need not carry a checksum
        damaged = packed[:30] + bytes([byte ^ 255 for byte in packed[30:40]]) + packed[40:]
        assert refusal(write(damaged, f"labels.csv{suffix}")) == message


@pytest.mark.parametrize("suffix", PACK)
def test_nothing_compressed(write: Write, suffix: str) -> None:
    """A compressed file of nothing is empty."""
    assert refusal(write(PACK[suffix](b""), f"labels.csv{suffix}")) == f"labels.csv{suffix}: the file is empty"


def test_zstandard_of_other_things_than_text(write: Write) -> None:
    """What is not text is not unpacked from Zstandard, and the message says by what it is."""
    path = write(zstd(GOOD), "labels.parquet.zst")
    assert refusal(path) == "labels.parquet.zst: contains something other than text: decompress it first (zstd -d)"


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """A missing file and a folder are said to be so, in every format."""
    for name in ("labels.csv", "labels.parquet"):
        assert refusal(tmp_path / name) == f"{tmp_path / name}: there is no such file"
    (tmp_path / "labels.parquet").mkdir()
    problem = "is a folder without tables: expected files whose names end in"
    assert refusal(tmp_path / "labels.parquet").startswith(f"{tmp_path / 'labels.parquet'}: {problem}")
    assert refusal(str(tmp_path)).startswith(f"{tmp_path}: {problem}")
    (tmp_path / "fit.json").write_text("{}")
    assert refusal(tmp_path) == f"{tmp_path}: is the folder of a fit, not a table of judgments"


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_a_file_without_permission(write: Write, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A file one may not read is said to be so."""

    def forbidden(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(CSV, name)
    monkeypatch.setattr(files, "open", forbidden, raising=False)  # root may read anything
    assert refusal(path) == f"{name}: cannot be read: Permission denied"


def test_an_unknown_format(write: Write) -> None:
    """A format nobody knows is refused with those there are."""
    known = [*READERS, *(export.name for export in EXPORTS)]
    assert refusal(write(CSV), format="xls") == f"format 'xls' is not one of {', '.join(map(repr, known))}"
    assert known[:4] == ["csv", "tsv", "jsonl", "json"]


def test_a_format_that_is_given_wins(write: Write) -> None:
    """A given format is taken over the file's name."""
    assert rows_of(read(write(CSV.replace(",", "\t"), "labels.csv"), format="tsv")) == ROWS
    assert refusal(write(CSV, "labels.csv"), format="parquet") == "labels.csv: is not a Parquet file"


def test_only_columns_that_are_asked_for_are_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large Parquet file is never held whole: of its columns only those with a role are read."""
    requests: list[str] = []
    select = pl.LazyFrame.select

    def counted(self: pl.LazyFrame, *columns: Any, **named: Any) -> pl.LazyFrame:
        requests.extend(columns)
        return select(self, *columns, **named)

    path = write(parquet(item=["a"], judge=["x"], label=[1], page=["long text"]), "labels.parquet")
    monkeypatch.setattr(pl.LazyFrame, "select", counted)
    assert open_source(path).columns == ("item", "judge", "label", "page")
    read(path)
    assert sorted(requests) == ["item", "judge", "label"]


def test_a_small_file_is_no_special_case(write: Write) -> None:
    """One row is a table."""
    assert rows_of(read(write("item,judge,label\na,x,1\n"))) == [("a", "x", "1")]


NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name == name.strip() and name == name.strip("\x85\ufeff"))
LABELS = st.sampled_from(["no", "yes", "don't know", 'a "b"', "x,y", "é\n日"])
TABLES = st.lists(st.tuples(NAMES, NAMES, LABELS, st.floats(0.5, 9), NAMES), min_size=1, max_size=25)


@pytest.mark.filterwarnings("ignore::adjudge.errors.AdjudgeWarning")  # names may look alike
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@settings(deadline=None)
@given(rows=TABLES)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, kind: str, rows: list[tuple[Any, ...]]) -> None:
    """Any table of judgments, written and read again, holds the same judgments."""
    table = pl.DataFrame(rows, schema=["item", "judge", "label", "weight", "time"], orient="row")
    options = {"item": "item", "judge": "judge"}  # named, so that no table looks swapped
    judgments = read(table, **options)
    path = tmp_path_factory.mktemp("trip") / f"labels.{kind}"
    path.write_bytes(table_text(judgment_table(judgments), kind))
    again = read(path, **options)
    assert rows_of(again) == rows_of(judgments)
    assert again.scale == judgments.scale
    assert sorted(rows_of(again)) == sorted(rows)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@given(rows=st.lists(st.tuples(st.integers(-9, 2**60), st.booleans()), min_size=1, max_size=9))
def test_round_trip_of_types(tmp_path_factory: pytest.TempPathFactory, kind: str, rows: list[tuple[Any, ...]]) -> None:
    """Numbers and booleans keep their types in files that have types."""
    table = pl.DataFrame([(i, i, yes) for i, yes in rows], schema=["item", "judge", "label"], orient="row")
    path = tmp_path_factory.mktemp("trip") / f"labels.{kind}"
    path.write_bytes(table_text(table, kind))
    assert sorted(rows_of(read(path))) == sorted(table.rows())


def test_quotation_marks_in_a_header(tmp_path: Path) -> None:
    """A name with doubled quotation marks is the name with single ones."""
    path = tmp_path / "labels.csv"
    path.write_text('"my ""item""",judge,label\na,x,1\n')
    assert len(read(path, item='my "item"')) == 1


def test_values_give_labels_an_order():
    """The value of every label, in the place of --labels and --ordinal; a label without a value is refused."""
    table = {"item": ["a", "b"], "judge": ["x", "x"], "label": ["good", "bad"]}
    judgments = read(pl.DataFrame(table), values={"good": 3, "bad": 0})
    assert judgments.scale == Scale(("bad", "good"), ordinal=True, values=(0.0, 3.0))
    assert read(pl.DataFrame(table), labels=judgments.scale).scale == judgments.scale
    with pytest.raises(InputError, match="label 'good' is not one of 'bad', 'fair'"):
        read(pl.DataFrame(table), values={"bad": 0, "fair": 1})
    with pytest.raises(UsageError, match="these judgments are read already"):
        read(judgments, values={"good": 3, "bad": 0})
