"""A table from anywhere: the columns of a file, of standard input, or of a frame of any library.

A source knows the names of its columns at once and returns a column on request, so that a large Parquet file is never
in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from adjudge.data.columns import has_column
from adjudge.errors import InputError, quote, quoted

# what pyarrow raises for values of several types, for numbers that it cannot hold, and when it is not installed
NOT_IN_ARROW = (TypeError, ValueError, NotImplementedError, OverflowError, ImportError)


ROW = ("item", "judge", "label")  # the values of a row that is a tuple
ITEM_NUMBERS = "item"  # the column of items that an array of items by judges is given


def position_itself(position: int) -> int:
    """Return the position: the rows of frames and Parquet files are numbered from 0."""
    return position


def no_order(column: str) -> list[Any] | None:
    """Return None: the values of the column have no order of their own."""
    return None


@dataclass(frozen=True)
class Source:
    """Named columns that are read on request, and the row number that messages use for each position."""

    name: str
    columns: tuple[str, ...]
    column: Callable[[str], pl.Series]
    row: Callable[[int], int] = position_itself  # the number under which people find the row at a position
    kind: str = "polars"  # the library of the frame
    text: bool = False  # values are text as typed: blanks around them mean nothing
    order: Callable[[str], list[Any] | None] = no_order  # the ordered categories of a column that has them
    format: str = "frame"
    encoding: str | None = None
    compression: str | None = None
    shape: str = "long"  # of the table: long, with one judgment per row, or a name in ``exports.EXPORTS``
    used: Mapping[str, str] = field(default_factory=dict)  # role -> the column of the file, if it was converted
    records: Callable[[], list[dict[str, Any]]] | None = None  # the rows of a file of JSON, as they are

    def wrong(self, problem: str, position: int | None = None) -> InputError:
        """Return the error that says where and what."""
        return InputError(problem, self.name, None if position is None else self.row(position))


def from_frame(frame: Any, name: str = "table") -> Source:
    """Return a frame of any library as a source; rows are numbered from 0.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table, or one of another library that narwhals knows. A lazy frame of polars is
        collected.
    name
        What messages call the table.

    Examples
    --------
    >>> source = from_frame(pl.DataFrame({"item": ["a", "b"], "label": [0, 1]}))
    >>> source.columns, source.column("label").to_list()
    (('item', 'label'), [0, 1])
    >>> str(source.wrong("this is not right", 1))
    'table, row 1: this is not right'
    """
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    if getattr(getattr(frame, "columns", None), "nlevels", 1) > 1:
        raise InputError("the columns have several levels: choose one of the first, as in frame['label']", name)
    try:
        table = nw.from_native(pl.DataFrame(frame) if _is_arrow_stream(frame) else frame, eager_only=True)
        native = {str(column): column for column in table.columns}
    except TypeError as error:
        problem = f"{type(frame).__name__} is not a table: give a path, or a pandas, polars or pyarrow frame"
        raise InputError(problem + _own_table(frame)) from error
    except nw.exceptions.DuplicateError as error:
        raise InputError("two columns have the same name: rename one", name) from error

    def order(column: str) -> list[Any] | None:
        dtype = table.get_column(native[column]).dtype
        return list(dtype.categories) if isinstance(dtype, nw.Enum) else None

    return Source(
        name,
        tuple(native),
        lambda column: _series(table.get_column(native[column]), name, column),
        kind=str(table.implementation),
        order=order,
    )


def _is_arrow_stream(frame: Any) -> bool:
    """Whether an object is a batch of pyarrow or a relation of DuckDB: columns of Arrow, but not a frame."""
    is_arrow = hasattr(frame, "__arrow_c_array__") or type(frame).__name__ == "DuckDBPyRelation"
    return is_arrow and (hasattr(frame, "schema") or hasattr(frame, "columns"))


def _own_table(record: Any) -> str:
    """Return where the table of a record of adjudge is: of a fit its labels, of other records their table."""
    names = [name for name in ("table", "labels") if hasattr(type(record), name)]
    return f"; its table is .{names[0]}" if names and type(record).__module__.startswith("adjudge.") else ""


def from_object(data: Any, name: str = "table") -> Source:
    """Return an object of Python as a source: a frame, a dataset, an array, a list of rows, or a dictionary.

    Parameters
    ----------
    data
        A frame of any library; a Hugging Face dataset; a numpy array of items by judges; a list of dictionaries, or of
        tuples of item, judge and label; a dictionary of columns, or ``{item: {judge: label}}``.
    name
        What messages call the table.

    Examples
    --------
    >>> source = from_object({"q1": {"ann": "yes", "bob": "no"}, "q2": {"bob": "no"}})
    >>> source.columns, source.column("judge").to_list()
    (('item', 'judge', 'label'), ['ann', 'bob', 'bob'])
    >>> from_object([("q1", "ann", "yes"), ("q1", "bob", "no")]).column("label").to_list()
    ['yes', 'no']
    """
    if isinstance(data, np.ndarray):
        return _from_array(data, name)
    if hasattr(data, "features") and hasattr(data, "column_names"):
        return from_frame(_dataset_table(data, name), name)
    if isinstance(data, Mapping):
        return _from_mapping(data, name)
    if isinstance(data, list | tuple) or (isinstance(data, Iterable) and hasattr(data, "__next__")):
        return _from_rows(list(data), name)
    return from_frame(_with_index(data), name)


def from_records(records: Sequence[Mapping[str, Any]], name: str) -> Source:
    """Return dictionaries as a source; a value that a dictionary does not have is null.

    >>> from_records([{"item": 1, "label": "a"}, {"item": "x"}], "table").column("item").to_list()
    ['1', 'x']
    """
    columns = tuple(dict.fromkeys(str(key) for record in records for key in record))
    rows = [{str(key): value for key, value in record.items()} for record in records]
    return Source(
        name,
        columns,
        lambda column: values_series(column, [row.get(column) for row in rows]),
        records=lambda: rows,
    )


def values_series(name: str, values: list[Any]) -> pl.Series:
    """Return values as a series: values of one type as they are, of several types as text, lists as objects."""
    kinds = {type(value) for value in values if value is not None}
    if kinds & {list, dict, tuple, set}:
        return pl.Series(name, values, dtype=pl.Object)
    if kinds <= {int, float} or len(kinds) <= 1:
        try:
            return pl.Series(name, values, strict=False)
        except (AttributeError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            pass
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _from_array(data: Any, name: str) -> Source:
    """Return an array of items by judges as a wide table with numbered items and judges; or one with named fields."""
    if data.dtype.names:
        return from_frame(pl.DataFrame({field: data[field] for field in data.dtype.names}), name)
    if data.ndim != 2:
        raise InputError(f"the array has {data.ndim} dimensions, expected 2: items in rows and judges in columns", name)
    columns = {str(judge): values_series(str(judge), data[:, judge].tolist()) for judge in range(data.shape[1])}
    if len(columns) < 1 or not len(data):
        raise InputError("the array is empty", name)
    table = pl.DataFrame({ITEM_NUMBERS: np.arange(len(data)), **columns})
    return replace(from_frame(table, name), shape="array")


def _dataset_table(data: Any, name: str) -> pl.DataFrame:
    """Return a Hugging Face dataset as a frame; numbers of classes become their names."""
    if not hasattr(data, "__len__"):
        raise InputError("is a dataset that is streamed: load it without streaming", name)
    table = data.to_polars() if hasattr(data, "to_polars") else pl.from_pandas(data.to_pandas())
    for column, feature in data.features.items():
        names = getattr(feature, "names", None)
        if names and table.schema[column].is_integer():
            classes = dict(enumerate(names))
            table = table.with_columns(pl.col(column).replace_strict(classes, default=None, return_dtype=pl.String))
    return table


def _from_mapping(data: Mapping[Any, Any], name: str) -> Source:
    """Return a dictionary of columns, or of judge -> label by item, as a source."""
    values = list(data.values())
    if not values:
        raise InputError("the dictionary is empty", name)
    if all(hasattr(value, "column_names") and hasattr(value, "features") for value in values):
        raise InputError(
            f"is a dictionary of datasets: choose one of {quoted(data)}, as in data[{next(iter(data))!r}]", name
        )
    if all(isinstance(value, Mapping) for value in values):
        return _from_nested(data, name)
    if all(isinstance(value, list | tuple | np.ndarray | pl.Series) or hasattr(value, "to_list") for value in values):
        columns = {str(key): values_series(str(key), list(value)) for key, value in data.items()}
        sizes = {key: len(series) for key, series in columns.items()}
        if len({*sizes.values()}) > 1:
            raise InputError(
                f"the columns have different lengths: {', '.join(f'{quote(k)} {n}' for k, n in sizes.items())}", name
            )
        return from_frame(pl.DataFrame(columns), name)
    problem = "a dictionary of judgments is {item: {judge: label}}, or has a list of values for each column"
    raise InputError(f"{problem}; the value of {quote(next(iter(data)))} is {type(values[0]).__name__}", name)


def _from_nested(data: Mapping[Any, Mapping[Any, Any]], name: str) -> Source:
    """Return judge -> label by item as a source; or rows by column, or columns by row, as pandas writes a frame."""
    keys = [tuple(map(str, value)) for value in data.values()]
    alike = all(each == keys[0] for each in keys)
    if alike and all(has_column(role, [*map(str, data)]) for role in ROW):
        columns = {str(key): list(value.values()) for key, value in data.items()}
        return from_frame(pl.DataFrame({key: values_series(key, values) for key, values in columns.items()}), name)
    holds_records = any(isinstance(each, Mapping) for value in data.values() for each in value.values())
    if holds_records or (alike and all(has_column(role, keys[0]) for role in ROW)):
        return from_records([*data.values()], name)
    triples = [(item, judge, label) for item, labels in data.items() for judge, label in labels.items()]
    return replace(_from_triples(triples, name), shape="dictionary")


def _from_rows(rows: list[Any], name: str) -> Source:
    """Return a list of dictionaries, or of tuples of item, judge and label, as a source."""
    if not rows:
        raise InputError("holds no rows", name)
    if all(isinstance(row, Mapping) for row in rows):
        return from_records(rows, name)
    for position, row in enumerate(rows):
        if not isinstance(row, list | tuple) or len(row) != len(ROW):
            size = f"{len(row)} values" if isinstance(row, list | tuple) else type(row).__name__
            raise InputError(f"a row has {size}, expected three: {', '.join(ROW)}", name, position)
    return _from_triples(rows, name)


def _from_triples(rows: Sequence[Sequence[Any]], name: str) -> Source:
    """Return tuples of item, judge and label as a source."""
    columns = zip(ROW, zip(*rows, strict=True), strict=True)
    return from_frame(pl.DataFrame({role: values_series(role, list(values)) for role, values in columns}), name)


def _with_index(frame: Any) -> Any:
    """Return a pandas frame with its index as columns, if the index has names that no column has."""
    names = getattr(getattr(frame, "index", None), "names", None)
    if names is not None and len(names) > 1 and hasattr(frame, "to_frame") and not hasattr(frame, "columns"):
        return _with_index(frame.to_frame(frame.name or ROW[-1]))  # a series, as unstacked frames are
    if names is None or not hasattr(frame, "reset_index") or not hasattr(frame, "columns"):
        return frame
    if any(name is not None for name in names):
        return frame if {*names} & {*frame.columns} else frame.reset_index()
    kind = getattr(getattr(frame.index, "dtype", None), "kind", "i")
    plain = kind in "iu" or len(names) > 1 or "index" in frame.columns
    return frame if plain else frame.rename_axis("index").reset_index()


def from_lines(name: str, frame: pl.DataFrame, first_row: int) -> Source:
    """Return lines of text that were read as columns; lines without any value are skipped.

    Parameters
    ----------
    name
        What messages call the file.
    frame
        The values as text, with null for a value that is missing.
    first_row
        The number of the first line in the file. A value may contain line breaks, which count.
    """
    rows, table = None, frame
    if frame.get_column(frame.columns[0]).null_count():
        rows = (~frame.select(pl.all_horizontal(pl.all().is_null())).to_series()).arg_true()
        table = frame[rows]
    if not table.height:
        raise InputError("the file has a header but no rows", name)

    def row(position: int) -> int:
        line = position if rows is None else int(rows[position])
        breaks = frame.head(line).select(pl.all().str.count_matches("\n", literal=True).sum())
        return first_row + line + int(sum(breaks.row(0)))

    return Source(name, tuple(table.columns), table.get_column, row, text=True)


def _series(column: nw.Series[Any], source: str, name: str) -> pl.Series:
    """Return a column of any library as a polars series; missing values become null."""
    native = column.to_native()
    if isinstance(native, pl.Series):
        return native
    arrow = column.implementation.is_pyarrow()
    if column.dtype.is_numeric() and not arrow and not column.null_count():
        return pl.Series(name, column.to_numpy())
    try:
        return pl.Series(name, native if arrow else column.to_arrow())
    except NOT_IN_ARROW:
        return _series_from_values(column, source, name)


def _series_from_values(column: nw.Series[Any], source: str, name: str) -> pl.Series:
    """Return a column as a polars series, value by value."""
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    values = [None if missing else value for value, missing in pairs]
    try:
        return pl.Series(name, values, strict=False)
    except (AttributeError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"column {quote(name)} holds values that are neither text nor numbers", source) from error
