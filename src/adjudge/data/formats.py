"""The formats of tables: CSV, TSV, JSON, Parquet, Arrow, Excel and TREC files, for every table that adjudge reads.

``open_source`` reads a whole table as columns, quickly, and refuses it at the first problem. ``read_rows`` goes through
a table row by row and collects all problems, for files that people write by hand. Both recognise the same formats,
separators, encodings and compressions (see ``files``), and both report the same problems in the same words.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from adjudge.data import files, trec
from adjudge.data.columns import match_columns
from adjudge.data.files import PARQUET, Content, FilePath, display_name, read_bytes, read_content
from adjudge.data.scale import INVISIBLE
from adjudge.data.source import Source, from_frame, from_lines, from_object
from adjudge.errors import AdjudgeWarning, InputError, MissingExtra, Problems, UsageError, not_one_of, quote, quoted

csv.field_size_limit(2**31 - 1)  # a value may be a document; the limit of Python is 131,072 characters

SEPARATORS = ",\t;|"
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".qrels": "qrels",
    ".qrel": "qrels",
}
STRAY_QUOTE = "there is a quotation mark inside a value"
OPEN_QUOTE = "a quotation mark is opened and not closed"
QUOTE_HINT = "put the whole value in quotation marks, and double those inside it"
MARKDOWN_RULE = rb"(?<=\n)[ \t]*\|?[ \t]*:?-{2,}:?[ \t|:-]*\r?\n"  # the line below the header of a table in Markdown
NESTED = "holds a list or record in some rows and not in others"
BINARY_FORMATS = ("parquet", "arrow", "excel")
NOT_AN_OBJECT = "is JSON but not an object with named values; give one object per line"


class Row(NamedTuple):
    """The values of a row by role, and the line in which it begins."""

    line: int
    values: dict[str, Any]


class ParsedRows(NamedTuple):
    """The rows of a table, one after the other."""

    header: tuple[str, ...] | None  # the names of columns; None for JSON lines, where every row has its own
    line: int  # of the header, 0 if there is none
    rows: Iterator[tuple[int, dict[str, Any] | str]]  # the line, and the values by column or else the problem


def open_source(data: Any, format: str | None = None) -> Source:  # noqa: A002
    """Open a table for reading by column; the first problem is an error with its row.

    Parameters
    ----------
    data
        A path, ``-`` for standard input, or an object that ``source.from_object`` takes. A Parquet file on disk is read
        one column at a time.
    format
        A name in ``READERS``. By default it is recognised from the content and the name of the file.

    Returns
    -------
    Source
        The columns, with the format, the encoding and the compression of the file.
    """
    if not isinstance(data, str | os.PathLike):
        return from_object(data)
    if format in (None, "parquet") and os.path.isfile(data) and read_bytes(data, len(PARQUET)) == PARQUET:
        return replace(_parquet_source(Path(data), display_name(data)), format="parquet")
    is_binary = (format or named_format(data)) in BINARY_FORMATS
    return content_source(files.binary_content(data) if is_binary else read_content(data), format)


def content_source(content: Content, format: str | None = None) -> Source:  # noqa: A002
    """Open the content of a file for reading by column; see ``open_source``."""
    kind = format or format_of(content)
    if kind not in READERS:
        raise UsageError(not_one_of("format", kind, READERS))
    source = READERS[kind](content)
    encoding = None if content.encoding == files.BINARY else content.encoding
    return replace(source, format=kind, encoding=encoding, compression=content.compression)


def read_rows(
    content: Content, problems: Problems, columns: Mapping[str, Sequence[str]], needed: Sequence[str]
) -> Iterator[Row]:
    """Go through the rows of a table, and collect its problems instead of raising an error at the first.

    Parameters
    ----------
    content
        The file, from ``files.read_content``.
    problems
        Where problems are added, with the file and the row.
    columns
        For every role, the names that its column may have; other columns are ignored.
    needed
        The roles without which a header is a problem. In JSON lines every row has its own names, so there a value may
        be None.

    Yields
    ------
    Row
        The values of a row by role, and its line.
    """
    parsed = parse_rows(content)
    roles = match_columns(parsed.header or (), columns)
    missing = [] if parsed.header is None else _missing_columns(parsed.header, roles, columns, needed)
    for problem in missing:
        problems.add(problem, content.name, parsed.line or None)
    for line, values in () if missing else parsed.rows:
        if isinstance(values, str):
            problems.add(values, content.name, line)
        else:
            yield Row(line, _by_role(values, roles, columns))


def read_text_rows(
    content: Content, problems: Problems, columns: Mapping[str, Sequence[str]], needed: Sequence[str]
) -> Iterator[Row]:
    """Go through the rows of a table as ``read_rows`` does, with every value as text; a needed value is never None."""
    for line, values in read_rows(content, problems, columns, needed):
        texts = {role: _text(value) for role, value in values.items() if value is not None}
        missing = [role for role in needed if role not in texts]
        for role in missing:
            problems.add(f"there is no {role}", content.name, line)
        if not missing:
            yield Row(line, texts)


def named_value(values: Mapping[str, Any], aliases: Sequence[str]) -> Any:
    """Return the value of a JSON object under the first of some names that has one, in any case; else None."""
    column = match_columns([name for name, value in values.items() if value is not None], {"value": aliases})
    return values[column["value"]] if column else None


def parse_rows(content: Content, format: str | None = None) -> ParsedRows:  # noqa: A002
    r"""Return the rows of a table, with the problem of every row that cannot be read.

    Parameters
    ----------
    content
        The file, from ``files.read_content``.
    format
        A name in ``READERS``. By default it is recognised from the content and the name of the file.

    Examples
    --------
    >>> parsed = parse_rows(Content("labels.csv", b"item,label\na,1\nb\n"))
    >>> parsed.header, list(parsed.rows)
    (('item', 'label'), [(2, {'item': 'a', 'label': '1'}), (3, '1 values, expected 2 as in the header')])
    """
    kind = format or format_of(content)
    if kind == "jsonl":
        return ParsedRows(None, 1, _json_rows(content.text))
    if kind in ("csv", "tsv"):
        return _separated_rows(content, "\t" if kind == "tsv" else None)
    if kind == "qrels":
        return ParsedRows(trec.QRELS, 1, trec.parse_fields(content, trec.QRELS))
    source = READERS[kind](content)
    table = pl.DataFrame({name: source.column(name) for name in source.columns})
    rows = ((source.row(n), values) for n, values in enumerate(table.iter_rows(named=True)))
    return ParsedRows(source.columns, 1, rows)


def format_of(content: Content) -> str:
    """Return the format of a file, from its content or else from its name.

    >>> format_of(Content("labels.txt", b'{"item": "a"}')), format_of(Content("labels.txt", b"1 0 d1 2"))
    ('jsonl', 'qrels')
    """
    named = named_format(content.name)
    binary = content.binary_format or (named if named in BINARY_FORMATS else None)
    if binary is not None:
        return binary
    lines = (line for line in io.BytesIO(content.data) if line.strip())
    first = next(lines, b"").decode(errors="replace")
    if named not in ("jsonl", "qrels"):
        start = first.lstrip()[:1]
        if start == "{" or (start == "[" and named in (None, "json")):
            return "json" if start == "[" or _is_document(first, next(lines, None) is None) else "jsonl"
        return trec.sniff_format(first) or (named if named != "json" else "jsonl") or "csv"
    return named


def _is_document(first: str, is_last: bool) -> bool:
    """Whether a file is one JSON value, from its first line that is not blank; else it has one object per line."""
    record = parse_json_object(first)
    if isinstance(record, str):
        return first.strip() == "{" or (first.rstrip()[-1:] in "{[,:" and not is_last)
    return is_last and bool(record) and all(isinstance(value, dict | list) for value in record.values())


def named_format(path: FilePath) -> str | None:
    """Return the format that the name of a file shows, None if it shows none.

    >>> named_format("labels.tsv.gz"), named_format("labels.txt")
    ('tsv', None)
    """
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() not in files.SUFFIXES]
    return SUFFIXES.get(endings[-1]) if endings else None


def separator_of(line: str) -> str:
    """Return the separator of values that occurs most often in a header."""
    return max(SEPARATORS, key=line.count)


@contextmanager
def intact_parquet(name: str) -> Iterator[None]:
    """Say in one sentence that a Parquet file is damaged; polars panics at some of them."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError("the Parquet file is damaged, or was cut off while it was written or copied", name) from error


def _parquet_source(file: Path | bytes, name: str) -> Source:
    """Return a Parquet file; columns are read one at a time, on request."""
    if isinstance(file, bytes) and not file.startswith(PARQUET):
        raise InputError("is not a Parquet file", name)
    table = pl.scan_parquet(file, glob=False)

    def column(wished: str) -> pl.Series:
        with intact_parquet(name):
            return table.select(wished).collect().get_column(wished)

    with intact_parquet(name):
        return Source(name, tuple(table.collect_schema()), column)


def _arrow_source(content: Content) -> Source:
    """Return an Arrow (Feather) file or stream; its columns are in memory."""
    data, name = content.data, content.name
    if files.binary_format(data) != "arrow":
        raise InputError("is not an Arrow file", name)
    try:
        is_file = data.startswith(b"ARROW1")
        frame = pl.read_ipc(io.BytesIO(data)) if is_file else pl.read_ipc_stream(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError("the Arrow file is damaged, or was cut off while it was written or copied", name) from error
    return from_frame(frame, name)


def _excel_source(content: Content) -> Source:
    """Return the first sheet of an Excel workbook with any rows; every value is text, as in separated values."""
    data, name = content.data, content.name
    if files.binary_format(data) != "excel":
        raise InputError("is not an Excel workbook", name)
    try:
        import fastexcel
    except ImportError as error:
        raise MissingExtra("'adjudge[excel]'", "reading an Excel workbook") from error
    try:
        workbook = fastexcel.read_excel(data)
        sheets = {sheet: workbook.load_sheet(sheet, header_row=None, dtypes="string") for sheet in workbook.sheet_names}
    except (fastexcel.FastExcelError, ValueError) as error:
        raise InputError("the Excel workbook is damaged, or protected with a password", name) from error
    filled = [sheet for sheet, content in sheets.items() if content.height]
    if not filled:
        raise InputError("the Excel workbook is empty", name)
    if len(filled) > 1:
        others = f"{quoted(filled[1:])} {'is' if len(filled) == 2 else 'are'} not read"
        warnings.warn(f"{name}: sheet {quote(filled[0])} is read, and {others}", AdjudgeWarning, stacklevel=4)
    table = sheets[filled[0]].to_polars()
    header = ["" if value is None else value.strip() for value in table.row(0)]
    twice = _repeated_name(header)
    if twice is not None:
        raise InputError(twice, name, 1)
    table.columns = [column or f"column {n}" for n, column in enumerate(header, 1)]
    return from_lines(name, table.slice(1), 2)


def _separated_source(content: Content, separator: str | None = None) -> Source:
    """Return separated values; every value stays the text that it is."""
    data, name = content.data, content.name
    data = data if b"\n" in data else data.replace(b"\r", b"\n")
    table = data.lstrip(b"\r\n")
    if table[:4].lower() == b"sep=":  # how Excel is told the separator
        separator, table = table[4:5].decode(errors="replace"), table[table.find(b"\n") + 1 :]
    first = io.BytesIO(table).readline().decode(errors="replace")
    if separator is None or separator not in first:
        separator = separator_of(first)
    if separator == "|":
        table = re.sub(MARKDOWN_RULE, b"\n", table, count=1)
    try:
        header = next(csv.reader(io.TextIOWrapper(io.BytesIO(table), "utf8", newline=""), delimiter=separator))
        frame = pl.read_csv(table, separator=separator, infer_schema=False)
    except (csv.Error, pl.exceptions.PolarsError) as error:
        raise _first_problem(data.decode(), name, separator) from error
    above = data.count(b"\n", 0, len(data) - len(table)) + sum(column.count("\n") for column in header)
    twice = _repeated_name(header)
    if twice is not None:
        raise InputError(twice, name, above + 1)
    if len(header) == frame.width:  # polars does not undouble quotation marks in names
        frame.columns = [_visible(column) or old for column, old in zip(header, frame.columns, strict=True)]
    return from_lines(name, frame, above + 2)


def _visible(name: str) -> str:
    """Return the name of a column without blanks around it and without invisible characters."""
    return name.translate(INVISIBLE).strip()


def _repeated_name(header: Sequence[str]) -> str | None:
    """Return the problem that two columns have one name, None if they do not."""
    names = Counter(map(_visible, header))
    twice = next((name for name, count in names.items() if name and count > 1), None)
    return None if twice is None else f"two columns are called {quote(twice)}: rename one"


def _first_problem(text: str, name: str, separator: str) -> InputError:
    """Return the error about the first line that is not well quoted or has too many values, with its row."""
    lines = text.split("\n")
    width = 0
    for begin, end, values in _csv_records(text, separator):
        if isinstance(values, str):
            return InputError(values, name, begin)
        width = width or len(values)
        if len(values) > width:
            return InputError(_width_problem(len(values), width, separator), name, begin)
        raw = "\n".join(lines[begin - 1 : end])
        if any('"' in value and value.replace('"', '""') not in raw for value in values):
            return InputError(f"{STRAY_QUOTE}: {QUOTE_HINT}", name, begin)
    return InputError("is not readable as separated values", name)


def _csv_records(text: str, separator: str) -> Iterator[tuple[int, int, list[str] | str]]:
    """Yield the first and the last line of every record with its values, or with the problem that ends the reading."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begin = 1
    try:
        for values in reader:
            yield begin, reader.line_num, values
            begin = reader.line_num + 1
    except csv.Error as error:
        problem = STRAY_QUOTE if "expected after" in str(error) else OPEN_QUOTE
        yield begin, begin, f"{problem}: {QUOTE_HINT}"


def _width_problem(count: int, width: int, separator: str) -> str:
    """Return the problem of a row that has more or fewer values than the header."""
    hint = f"; a value that contains {quote(separator)} needs quotation marks" if count > width else ""
    return f"{count} values, expected {width} as in the header{hint}"


def _separated_rows(content: Content, separator: str | None) -> ParsedRows:
    """Return the rows of separated values, with blanks around values removed."""
    text = content.text if "\n" in content.text else content.text.replace("\r", "\n")
    first = next((line for line in text.split("\n") if line.strip()), "")
    separator = separator or separator_of(first)
    records = ((begin, values) for begin, _, values in _csv_records(text, separator) if _has_value(values))
    line, header = next(records, (0, list[str]()))
    if isinstance(header, str):
        return ParsedRows(None, line, iter([(line, header)]))
    names = tuple(name.strip() for name in header)
    twice = _repeated_name(names)
    rows = _named_records(names, records, separator) if twice is None else iter([(line, twice)])
    return ParsedRows(names, line, rows)


def _named_records(
    names: Sequence[str], records: Iterable[tuple[int, list[str] | str]], separator: str
) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the line of every record with its values by column, or with its problem."""
    for line, values in records:
        if isinstance(values, str):
            yield line, values
        elif len(values) != len(names):
            yield line, _width_problem(len(values), len(names), separator)
        else:
            yield line, {name: value.strip() for name, value in zip(names, values, strict=True)}


def _has_value(values: list[str] | str) -> bool:
    """Whether a record has a problem or any value."""
    return isinstance(values, str) or any(value.strip() for value in values)


def _json_source(content: Content) -> Source:
    """Return a table with one JSON object per line."""
    data, name = content.data, content.name

    def row(position: int) -> int:
        return [number for number, line in enumerate(data.split(b"\n"), 1) if line.strip()][position]

    def records() -> list[dict[str, Any]]:
        return [values for _, values in _json_rows(content.text) if isinstance(values, dict)]

    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        problem = _first_json_problem(content)
        if problem is None or problem.problem.endswith(
            NESTED
        ):  # records of different shapes, as annotation tools write
            objects = from_object(records(), name)
            return replace(
                objects, column=lambda wished: _checked_json(content, wished, objects.column(wished)), row=row
            )
        raise problem or InputError("is not readable as JSON lines", name) from error

    def column(wished: str) -> pl.Series:
        return _checked_json(content, wished, frame.get_column(wished))

    return Source(name, tuple(frame.columns), column, row, records=records)


def _checked_json(content: Content, name: str, series: pl.Series) -> pl.Series:
    """Return a column of JSON lines; one that has lists or records in some rows only is refused."""
    if series.dtype == pl.Object or (series.dtype == pl.String and series.str.contains(r"^[\[{]").any()):
        problem = _first_json_problem(content, name)  # polars writes a list as text
        if problem is not None:
            raise problem
    return series


def _document_source(content: Content) -> Source:
    """Return a file that is one JSON value: a list of objects or rows, a dictionary of columns, or one by item."""
    name = content.name
    try:
        value = json.loads(content.text, parse_constant=lambda constant: None)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        reason = "nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        raise InputError(f"is not JSON ({reason})", name, line) from error
    if isinstance(value, dict) and not all(isinstance(each, dict | list) for each in value.values()):
        value = [value]
    if not isinstance(value, dict | list):
        raise InputError("is JSON but not a table: give a list of objects, or one object per line", name)
    try:
        return replace(from_object(value, name), row=lambda position: position + 1)
    except InputError as error:
        raise InputError(error.problem, name, None if error.row is None else error.row + 1) from error


def _first_json_problem(content: Content, only: str | None = None) -> InputError | None:
    """Return the error about the first line that is not a JSON object like those before, with its row."""
    nested: dict[str, bool] = {}
    for line, values in _json_rows(content.text):
        if isinstance(values, str):
            return InputError(values, content.name, line)
        for key, value in values.items():
            is_nested = isinstance(value, list | dict)
            if only in (None, key) and value is not None and nested.setdefault(key, is_nested) != is_nested:
                problem = f"{quote(key)} {NESTED}"
                return InputError(problem, content.name, line)
    return None


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the objects of JSON lines, or the problem of a line that is none."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, parse_json_object(line)


def parse_json_object(line: str) -> dict[str, Any] | str:
    """Return the JSON object of a line, or the problem of a line that is none."""
    try:
        values = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        return f"is not JSON ({reason}); give one object per line"
    return values if isinstance(values, dict) else NOT_AN_OBJECT


def _refuse_constant(constant: str) -> None:
    """Refuse NaN and Infinity, which Python would accept."""
    raise ValueError(f"{constant} is not a JSON value")


def _by_role(
    values: Mapping[str, Any], roles: Mapping[str, str], columns: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the values of a row by role: by column or, without a header, by the names in the row."""
    if roles:
        return {role: values[column] for role, column in roles.items()}
    return {role: named_value(values, aliases) for role, aliases in columns.items()}


def _missing_columns(
    header: Sequence[str], roles: Mapping[str, str], columns: Mapping[str, Sequence[str]], needed: Sequence[str]
) -> list[str]:
    """Return a problem for every needed role that has no column."""
    if not header:
        return [f"is empty, expected a header with {', '.join(needed)}"]
    problems = []
    for role in (role for role in needed if role not in roles):
        others = [alias for alias in columns[role] if alias != role]
        alternatives = f" (or {quoted(others)})" if others else ""
        problems.append(f"there is no column {quote(role)}{alternatives}; the columns are {quoted(header)}")
    return problems


def _text(value: Any) -> str:
    """Return a value as text: 1.0 is 1."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


READERS: Mapping[str, Callable[[Content], Source]] = {
    "csv": _separated_source,
    "tsv": lambda content: _separated_source(content, "\t"),
    "jsonl": _json_source,
    "json": _document_source,
    "arrow": _arrow_source,
    "excel": _excel_source,
    "parquet": lambda content: _parquet_source(content.data, content.name),
    "qrels": trec.qrels_source,
    "trec-task1": trec.task1_source,
    "trec-task2": trec.task2_source,
    "trec-task2-run": trec.task2_run_source,
}
