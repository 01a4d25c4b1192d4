"""The shapes of tables of judgments: what annotation tools and crowdsourcing platforms export, and wide tables.

A table of judgments has one judgment per row, with the columns item, judge and label. Many files have another shape:
one column per judge, one record per item with a list of annotations, or one column per question. ``EXPORTS`` has an
entry for each: how it is recognised, by its columns, and how it becomes a table of judgments. If there are several
questions, the user is asked to choose one with --label.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.data.columns import ALSO, NEEDED, USUAL, find_columns, has_column, is_usual
from adjudge.data.files import Content, archive_members, display_name
from adjudge.data.formats import READERS, content_source, open_source
from adjudge.data.label_values import MISSING
from adjudge.data.source import Source, from_frame, values_series
from adjudge.errors import AdjudgeWarning, UsageError, not_one_of, option_with, quote, quoted

SEVERAL = "|"  # between the labels of a judgment that has several
FALSE = (False, None, 0, "", "0", "false", "False", "FALSE", "off")
CHOSEN = ("true", "on", "1", "yes")  # values, in lower case, of an option that is chosen
ITEM_NAMES = ("id", "index", "item", "items", "text_id", "example", "example_id", "row", "name", "")
NOT_JUDGES = (  # columns of a wide table that hold no judgments
    *("gold", "gold_label", "truth", "true_label", "ground_truth", "groundtruth", "target", "reference", "consensus"),
    *("majority", "majority_vote", "label_true", "expected", "final", "final_label", "adjudicated"),
)
PROLIFIC = (  # columns of Prolific that are no answers
    *("submission id", "status", "custom study tags accepted at", "started at", "completed at", "reviewed at"),
    *(
        "archived at",
        "time taken",
        "completion code",
        "total approvals",
        "fluent languages",
        "age",
        "sex",
        "session_id",
    ),
    *("ethnicity simplified", "country of birth", "country of residence", "nationality", "language", "study_id"),
    *(
        "student status",
        "employment status",
        "duration (in seconds)",
        "finished",
        "recordeddate",
        "startdate",
        "enddate",
    ),
)
QUALTRICS = (  # columns of Qualtrics that are no answers, beside those that Prolific has too
    *("ipaddress", "progress", "responseid", "recipientlastname", "recipientfirstname", "recipientemail"),
    *("externalreference", "externaldatareference", "locationlatitude", "locationlongitude", "distributionchannel"),
    *("userlanguage", "timestamp"),
)
TIMING = ("_first click", "_last click", "_page submit", "_click count")  # ends of columns of Qualtrics
PROLIFIC_ID = re.compile(r"prolific[\W_]*(p?id\b|.*\bid\b)|participant[ _]id$|prolific$")
NO_PAYMENT = ("RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT")  # statuses of Prolific
MOST_LABELS = 50  # different labels in a wide table; more look like texts
FEEDBACK = re.compile(
    r"^(?:feedback[./](?P<key>.+?)(?:[./](?:score|value))?|(?P<metric>.+?)(?:/v\d+)?/(?:score|value|rating))$"
)
NOT_AS_DOCUMENTED = (  # what a file raises that has the columns of an export and other values in them
    *(AttributeError, KeyError, IndexError, TypeError, ValueError, StopIteration),
    pl.exceptions.PolarsError,
)
COMMENTS = (".comment", "/comment", "/justification", "/rationale", ".reasoning", "/error_message")


class Answers(NamedTuple):
    """A table of answers to questions, and where they come from."""

    table: pl.DataFrame  # item, judge, question, label and row, and what else is known: time, judge_kind
    used: Mapping[str, str]  # role -> column of the file
    notes: tuple[str, ...] = ()


class Export(NamedTuple):
    """A shape of tables: its name, how it is recognised, and how it becomes a table of answers."""

    name: str  # as an option names it
    title: str  # as people call it
    recognise: Callable[[Source], bool]
    convert: Callable[[Source, Mapping[str, str | None]], Answers]


def judgment_source(
    data: Any,
    format: str | None,  # noqa: A002
    named: Mapping[str, str | None],
) -> tuple[Source, dict[str, str | None]]:
    """Open a table of judgments in any shape, as one with one judgment per row.

    Parameters
    ----------
    data
        A path, or an object that ``open_source`` takes. A zip archive or a folder holds a table or, as some tools
        write, a file per judge.
    format
        A name of a format, or of a shape in ``EXPORTS``. By default both are recognised.
    named
        Role -> column, for columns that the user named. The label may also name a question.

    Returns
    -------
    tuple
        The table with one judgment per row, and the columns that the user named that it still has.
    """
    shape = next((export for export in EXPORTS if export.name == format), None)
    if format is not None and shape is None and format not in READERS:
        raise UsageError(not_one_of("format", format, [*READERS, *(e.name for e in EXPORTS)]))
    members = archive_members(data)
    if members is not None:
        return _archive(display_name(data), members, named, shape, None if shape is not None else format)
    source = open_source(data, None if shape is not None else format)
    return to_judgments(source, named, shape)


def _archive(
    name: str,
    members: Sequence[Content],
    named: Mapping[str, str | None],
    shape: Export | None,
    format: str | None,  # noqa: A002
) -> tuple[Source, dict[str, str | None]]:
    """Return the judgments of all files of an archive; a file without judges has the labels of one judge, its name."""
    if len(members) == 1:
        return to_judgments(content_source(members[0], format), named, shape)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tables = [to_judgments(content_source(content, format), named, shape) for content in members]
    _repeat_notes(caught)
    parts = []
    for source, columns in tables:
        wished = {**columns, "item": columns["item"] or ("id" if "id" in source.columns else None)}
        needed = [role for role in NEEDED if role != "judge" or has_column("judge", source.columns) or columns["judge"]]
        roles = find_columns(source.columns, {r: c for r, c in wished.items() if r in USUAL and c}, source.name, needed)
        part = pl.DataFrame([source.column(column).alias(role) for role, column in roles.items()])
        parts.append(part if "judge" in roles else part.with_columns(judge=pl.lit(Path(source.name).stem)))
    kinds = {column: {part.schema[column] for part in parts if column in part.columns} for column in NEEDED}
    mixed = [column for column, each in kinds.items() if len(each) > 1]
    table = pl.concat([part.with_columns(pl.col(mixed).cast(pl.String)) for part in parts], how="diagonal_relaxed")
    shapes = list(dict.fromkeys(source.shape for source, _ in tables))
    joined = replace(
        from_frame(table, name),
        text=True,
        format=f"{len(tables):,} files",
        shape=", ".join(shapes) if shapes != ["long"] else "a file per judge",
        used={role: role for role in table.columns},
    )
    return joined, dict.fromkeys(named)


def _repeat_notes(caught: Sequence[warnings.WarningMessage]) -> None:
    """Repeat the notes about the files of an archive; of notes that say the same, only the first, with their number."""
    groups: dict[str, list[str]] = {}
    for warning in caught:
        text = str(warning.message)
        groups.setdefault(re.sub(r"^.*?: |'[^']*'|\d+", "", text), []).append(text)
    for texts in groups.values():
        more = f"; the same holds for {len(texts) - 1:,} more files" if len(texts) > 1 else ""
        warnings.warn(f"{texts[0]}{more}", AdjudgeWarning, stacklevel=5)


def to_judgments(
    source: Source, named: Mapping[str, str | None], shape: Export | None = None
) -> tuple[Source, dict[str, str | None]]:
    """Return a table of any shape as one with one judgment per row; see ``judgment_source``."""
    source = _without_descriptions(source)
    shape = shape or shape_of(source, named)
    if shape is None:
        return source, dict(named)
    _refuse_columns(source, named, shape)
    try:
        answers = shape.convert(source, named)
    except NOT_AS_DOCUMENTED as error:
        problem = f"is recognised as {shape.title}, but is not as this is documented"
        raise source.wrong(f"{problem}: name its columns with --item, --judge and --label") from error
    for role in ("item", "judge"):
        column = named.get(role)
        if column is not None and answers.used.get(role) != column:
            problem = f"is recognised as {shape.title}, where the {role} is {answers.used.get(role)}"
            raise source.wrong(f"{problem}: leave out --{role}")
    if not answers.table.height:
        reasons = "".join(f": {note}" for note in answers.notes)
        raise source.wrong(f"is recognised as {shape.title}, and holds no judgments{reasons}")
    table, question = _chosen_question(answers, named.get("label"), source, shape)
    used = {role: column for role, column in answers.used.items() if column}
    used |= {"label": question} if question else {}
    for note in answers.notes:
        warnings.warn(f"{source.name}: {note}", AdjudgeWarning, stacklevel=4)
    rows = table.get_column("row")
    table = table.drop("row", "question")
    long = replace(
        source,
        columns=tuple(table.columns),
        column=table.get_column,
        row=lambda position: source.row(int(rows[position])),
        order=lambda column: None,
        shape=shape.title,
        used=used,
        records=None,
    )
    return long, dict.fromkeys(named)


def shape_of(source: Source, named: Mapping[str, str | None]) -> Export | None:
    """Return the shape of a table, None if it has one judgment per row, or if it is not recognised.

    A table with columns of items, judges and labels, of usual names or named by the user, has one judgment per row.
    """
    if all(named.get(role) in source.columns or has_column(role, source.columns) for role in NEEDED):
        return None
    return next((export for export in EXPORTS if export.recognise(source)), None)


def _refuse_columns(source: Source, named: Mapping[str, str | None], shape: Export) -> None:
    """Refuse columns that do not exist, and those that this shape cannot have."""
    for role in ("item", "judge"):
        column = named.get(role)
        if column is not None and column not in source.columns:
            problem = f"there is no column {quote(column)} for the {role} (columns: {quoted(source.columns)})"
            raise source.wrong(problem)
    other = next((role for role in ("topic", "weight", "time") if named.get(role) is not None), None)
    if other is not None:
        problem = f"is recognised as {shape.title}, for which --{other} cannot be given"
        raise source.wrong(f"{problem}: name --item, --judge and --label as well to read the table as it is")


def _chosen_question(
    answers: Answers, wished: str | None, source: Source, shape: Export
) -> tuple[pl.DataFrame, str | None]:
    """Return the answers to one question, and its name; several questions without a choice are refused."""
    questions = answers.table.get_column("question").unique(maintain_order=True).to_list()
    names = [str(question) for question in questions if question is not None]
    if wished is None:
        if len(names) > 1:
            problem = f"is recognised as {shape.title} with several questions ({quoted(names)})"
            raise source.wrong(f"{problem}: choose one with --label")
        return answers.table, names[0] if names else answers.used.get("label")
    if not names:
        return answers.table, wished
    matching = [name for name in names if name == wished] or [
        name for name in names if re.split(r"[.:]", name, maxsplit=1)[-1] == wished
    ]
    if not matching:
        raise source.wrong(f"there is no question {quote(wished)} (questions: {quoted(names)})")
    return answers.table.filter(pl.col("question").cast(pl.String) == matching[0]), matching[0]


# Records: files of JSON with a list of annotations in each record.


class _Rows:
    """Answers that are collected one by one."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.several = 0
        self.records = 0  # answers that are no labels

    def add(
        self, row: int, item: Any, judge: Any, question: Any, label: Any, time: Any = None, kind: Any = None
    ) -> None:
        """Add an answer; a list of several labels becomes one text. A span, a box or a ranking is only counted."""
        values = label if isinstance(label, list | tuple) else [label]
        if any(isinstance(value, dict | list | tuple) for value in values):
            self.records += 1
            return
        if isinstance(label, list | tuple):
            self.several += len(label) > 1
            label = SEVERAL.join(map(str, label)) if len(label) != 1 else label[0]
        self.rows.append((row, item, judge, None if question is None else str(question), label, time, kind))

    def answers(self, used: Mapping[str, str], notes: Sequence[str] = ()) -> Answers:
        """Return all answers as a table."""
        columns = zip(*self.rows, strict=True) if self.rows else [[] for _ in range(7)]
        names = ("row", "item", "judge", "question", "label", "time", "judge_kind")
        table = pl.DataFrame([values_series(name, list(values)) for name, values in zip(names, columns, strict=True)])
        for name in ("time", "judge_kind"):
            if table.get_column(name).null_count():
                table = table.drop(name)
        if self.several:
            more = f"{self.several:,} judgments have several labels, which are read as one, such as 'a{SEVERAL}b'"
            notes = [*notes, more]
        if self.records:
            notes = [*notes, f"{NOT_LABELS} ({self.records:,} answers)"]
        return Answers(table, used, tuple(notes))


def _records(source: Source) -> list[dict[str, Any]]:
    """Return the rows of a source as dictionaries."""
    if source.records is not None:
        return source.records()
    columns = {name: source.column(name).to_list() for name in source.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _parsed(value: Any) -> Any:
    """Return the value of a text that is JSON, and any other value as it is."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _list(value: Any) -> list[Any]:
    """Return a list of the values in a field: none, one or several."""
    value = _parsed(value)
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _label_studio(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert an export of Label Studio as JSON: a task per record, with annotations by user."""
    rows, notes, regions, predictions, truths = _Rows(), [], 0, 0, 0
    for n, task in enumerate(_records(source)):
        item = task.get("id", n)
        predictions += len(_list(task.get("predictions")))
        for annotation in _list(task.get("annotations") or task.get("completions")):
            judge = annotation.get("completed_by")
            judge = judge.get("email", judge.get("id")) if isinstance(judge, dict) else judge
            results = [r for r in _list(annotation.get("result")) if isinstance(r, dict)]
            choices = [(r.get("from_name"), _region_label(r)) for r in results if not _is_region(r)]
            regions += len(results) - len(choices)
            truths += bool(annotation.get("ground_truth"))
            if annotation.get("was_cancelled") or not results:
                choices = [(None, None)]  # skipped
            for question, label in choices:
                rows.add(n, item, judge, question, label, annotation.get("created_at"))
    _spread_skips(rows)
    if regions and not rows.rows:
        raise source.wrong("is a file of Label Studio with regions (spans, boxes), not with one label per item")
    notes += [f"{regions:,} regions (spans, boxes) are not read"] if regions else []
    notes += [f"{predictions:,} predictions of models are not read"] if predictions else []
    notes += [f"{truths:,} annotations are marked as ground truth; they are used"] if truths else []
    return rows.answers({"item": "id", "judge": "annotations.completed_by"}, notes)


REGION = {"start", "x", "points", "rle", "ranges", "sequence"}  # values of a span, a box, a polygon, a mask, a video


def _is_region(result: Mapping[str, Any]) -> bool:
    """Whether a result of Label Studio is a part of an item: a span, a box, a polygon."""
    value = result.get("value")
    return not isinstance(value, dict) or bool(REGION & value.keys())


def _region_label(result: Mapping[str, Any]) -> Any:
    """Return the label of a result of Label Studio: choices, a rating, a number or a text."""
    value = result["value"]
    label = value.get(result.get("type"), next(iter(value.values()), None))
    if isinstance(label, list) and label and isinstance(label[0], list):  # a taxonomy
        return ["/".join(map(str, path)) for path in label]
    return label


def _spread_skips(rows: _Rows) -> None:
    """Give skipped annotations, which have no question, to every question that there is."""
    questions = list(dict.fromkeys(row[3] for row in rows.rows if row[3] is not None))
    spread = [[row] if row[3] is not None else [(*row[:3], q, *row[4:]) for q in questions] for row in rows.rows]
    rows.rows = [row for group in spread for row in group] if questions else rows.rows


def _argilla(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert an export of Argilla as JSON: a record per item, with responses by question and user."""
    rows = _Rows()
    for n, record in enumerate(_records(source)):
        item = record.get("id", record.get("external_id", n))
        responses = _parsed(record.get("responses"))
        if isinstance(responses, dict):
            for question, each in responses.items():
                for response in _list(each):
                    rows.add(n, item, response.get("user_id"), question, _submitted(response, response.get("value")))
            continue
        for response in _list(responses):  # before version 2
            for question, value in (response.get("values") or {}).items():
                value = value.get("value") if isinstance(value, dict) else value
                rows.add(n, item, response.get("user_id"), question, _submitted(response, value))
    return rows.answers({"item": "id", "judge": "responses.user_id"})


def _submitted(response: Mapping[str, Any], value: Any) -> Any:
    """Return the value of a response of Argilla, None if it was discarded or is a draft."""
    return value if response.get("status") in (None, "submitted") else None


def _argilla_flat(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert a dataset of Argilla: for every question, columns of lists of values, users and statuses."""
    rows = _Rows()
    questions = [name.removesuffix(".responses.users") for name in source.columns if name.endswith(".responses.users")]
    for n, record in enumerate(_records(source)):
        for question in questions:
            values, users = _list(record.get(f"{question}.responses")), _list(record.get(f"{question}.responses.users"))
            statuses = _list(record.get(f"{question}.responses.status")) or ["submitted"] * len(users)
            for value, user, status in zip(values, users, statuses, strict=False):
                rows.add(n, record.get("id", n), user, question, value if status == "submitted" else None)
    return rows.answers({"item": "id", "judge": "responses.users"})


PARTS = ("spans", "relations", "audio_spans")  # annotations of Prodigy that are parts of an item


def _is_manual(record: Mapping[str, Any]) -> bool:
    """Whether an annotation of Prodigy was made by marking parts, not by accepting or rejecting what is marked."""
    view = str(record.get("_view_id"))
    return record.get("_is_binary") is False or view.endswith("manual") or view == "relations"


def _prodigy(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert annotations of Prodigy: accepted options, or accept and reject."""
    rows, notes, unknown = _Rows(), list[str](), 0
    for n, record in enumerate(_records(source)):
        judge = record.get("_annotator_id") or record.get("_session_id")
        unknown += judge is None
        answer, accepted = record.get("answer"), record.get("accept")
        has_options = bool(record.get("options")) or (accepted is not None and not isinstance(accepted, dict))
        label: Any
        if has_options:
            label = _list(accepted) if answer == "accept" else None
            label = label or None
        elif "user_input" in record:
            label = record["user_input"] if answer == "accept" else None
        elif any(record.get(name) is not None for name in PARTS) and _is_manual(record):
            label = [{}] if answer == "accept" else None  # the annotation is in the parts, and accepted as a whole
        else:
            label = None if answer == "ignore" else answer
        question = None if has_options else record.get("label")
        time = record.get("_timestamp")
        rows.add(n, record["_input_hash"], _one_judge(source) if judge is None else judge, question, label, time)
    if unknown:
        notes.append(f"{unknown:,} annotations do not say who made them; their judge is {quote(_one_judge(source))}")
    return rows.answers({"item": "_input_hash", "judge": "_annotator_id"}, notes)


def _one_judge(source: Source) -> str:
    """Return the judge of a file that does not name them: the name of the file, or of the folder of Potato."""
    path = Path(source.name)
    return path.parent.name or path.stem if path.stem == "annotated_instances" else path.name.split(".")[0] or path.stem


DOCCANO_LABELS = ("cats", "label", "labels")  # cats are beside entities


def _doccano(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert an export of doccano: a text per record, with the labels of one user, or with annotations by user."""
    rows, notes = _Rows(), list[str]()
    for n, record in enumerate(_records(source)):
        item = record.get("id", n)
        if "annotations" in record:
            for annotation in _list(record["annotations"]):
                rows.add(n, item, annotation.get("user"), None, annotation.get("label", annotation.get("text")))
            continue
        value = next((record[name] for name in DOCCANO_LABELS if name in record), None)
        labels = value.split("#") if isinstance(value, str) and source.records is None else _list(value)
        if any(isinstance(label, list | dict) for label in labels):
            raise source.wrong("is a file of doccano with spans, not with one label per text", n)
        rows.add(n, item, _one_judge(source), None, labels or None)
    if not any("annotations" in record for record in _records(source)[:1]):
        one_file = "doccano writes one file per user, and does not name the user in it"
        notes.append(f"{one_file}; the judge is {quote(_one_judge(source))}, the name of the file")
    return rows.answers({"item": "id", "judge": "name of the file", "label": "label"}, notes)


def _is_doccano(source: Source) -> bool:
    """Whether a file is an export of doccano: texts or images with lists of labels and without a judge."""
    names = {*source.columns}
    if not names & {"text", "data", "filename"} or has_column("judge", source.columns):
        return False
    if source.records is None:
        return {"id", "label", "Comments"} <= names
    if "annotations" in names:
        return "text" in names
    label = next((name for name in DOCCANO_LABELS if name in names), None)
    return label is not None and "id" in names and isinstance(_records(source)[0].get(label), list)


def _potato(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert annotations of Potato: an instance and a user per record, with values by scheme and label."""
    rows, notes = _Rows(), list[str]()
    answered = [
        answered for n, record in enumerate(_records(source)) for answered in _potato_answers(source, n, record)
    ]
    values: dict[str, list[Any]] = {}
    for *_, schemes in answered:
        for scheme, value in schemes.items():
            values.setdefault(scheme, []).append(value)
    are_choices = {scheme: _are_choices(each) for scheme, each in values.items()}
    for n, item, judge, schemes in answered:
        for scheme, value in schemes.items():
            if not isinstance(value, dict):
                rows.add(n, item, judge, scheme, _parsed(value))
            elif are_choices[scheme]:
                chosen = [label for label, each in value.items() if _trimmed(each) not in FALSE and label != COMMENT]
                rows.add(n, item, judge, scheme, chosen or None)
            else:
                for label, each in value.items():
                    question = (
                        scheme if len({label for v in values[scheme] for label in v}) == 1 else f"{scheme}.{label}"
                    )
                    rows.add(n, item, judge, question, _parsed(each))
    unknown = sum(not {"user", "user_id"} & record.keys() for record in _records(source))
    if unknown:
        notes.append(
            f"the file does not name the user; the judge is {quote(_one_judge(source))}, the name of the folder"
        )
    return rows.answers({"item": "instance_id", "judge": "user"}, notes)


COMMENT = "free_response"  # a label of Potato that is a text beside the choice


def _potato_answers(source: Source, n: int, record: Mapping[str, Any]) -> list[tuple[int, Any, Any, dict[str, Any]]]:
    """Return the row, the instance, the user and the values by scheme of every instance in a record of Potato."""
    judge = record.get("user", record.get("user_id"))
    judge = _one_judge(source) if judge is None else judge
    if POTATO_STATE in record:
        instances = record[POTATO_STATE]
        return [(n, item, judge, _grouped(labels)) for item, labels in instances.items()]
    schemes = _parsed(record.get("label_annotations"))
    if isinstance(schemes, dict):
        schemes = {scheme: dict(values) for scheme, values in schemes.items()}
    else:
        schemes = _parsed(record.get("labels"))
    if not isinstance(schemes, dict):  # a table, with a column for every scheme, or for every scheme and label
        schemes = {}
        separator = ":::" if any(":::" in name for name in record) else "."
        for name, value in record.items():
            scheme, _, label = name.partition(separator)
            if label and label != "_spans" and value is not None:
                schemes.setdefault(scheme, {})[label] = value
        columns = [name for name in record if separator not in name and name not in POTATO_COLUMNS]
        schemes |= {name: record[name] for name in columns if separator == "." and record[name] is not None}
    return [(n, record.get("instance_id", record.get("id", n)), judge, schemes)]


POTATO_STATE = "instance_id_to_label_to_value"
POTATO_COLUMNS = ("instance_id", "user_id", "user", "displayed_text", "spans", "links")


def _grouped(labels: Any) -> dict[str, Any]:
    """Return the values of an instance by scheme and label, from pairs of a label with its value."""
    if isinstance(labels, dict):
        return labels
    schemes: dict[str, Any] = {}
    for label, value in labels:
        schemes.setdefault(label["schema"], {})[label["name"]] = value
    return schemes


def _are_choices(values: Sequence[Any]) -> bool:
    """Whether the labels of a scheme of Potato are its options, not the fields that hold a number or a text.

    A chosen option has the value true, its own name or its own number.

    >>> _are_choices([{"good": "true"}, {"bad": "true"}]), _are_choices([{"select-one": "good"}])
    (True, False)
    """
    by_label: dict[str, set[str]] = {}
    for each in (each for each in values if isinstance(each, dict)):
        for label, value in each.items():
            if label != COMMENT and _trimmed(value) not in FALSE:
                by_label.setdefault(label, set()).add(str(value).strip())
    if all(value.lower() in (*CHOSEN, label.lower()) for label, texts in by_label.items() for value in texts):
        return True
    all_at_once = all(len(each) == len(by_label) for each in values if isinstance(each, dict))
    return not all_at_once and all(len(texts) == 1 for texts in by_label.values())


def _trimmed(value: Any) -> Any:
    """Return a text without blanks around it, and any other value as it is."""
    return value.strip() if isinstance(value, str) else value


def _mlflow_traces(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert traces of MLflow with assessments by people and by models."""
    rows = _Rows()
    kinds = {"HUMAN": "person", "LLM_JUDGE": "machine", "AI_JUDGE": "machine", "CODE": "machine"}
    for n, record in enumerate(_records(source)):
        item = record.get("trace_id", record.get("request_id", n))
        for each in (_parsed(each) for each in _list(record.get("assessments"))):
            feedback = each.get("feedback", each)
            if each.get("expectation") is not None:  # a truth, not a judgment
                continue
            value = feedback.get("value") if isinstance(feedback, dict) else feedback
            origin = each.get("source") or {}
            kind = str(origin.get("source_type", "")).removeprefix("SourceType.")
            judge = origin.get("source_id") or kind.lower() or None
            name = each.get("assessment_name", each.get("name"))
            rows.add(n, item, judge, name, value, kind=kinds.get(kind))
    return rows.answers({"item": "trace_id", "judge": "assessments.source.source_id"})


# Tables: separated values and frames with one column per question, or one per judge.


def _table_answers(
    source: Source,
    item: str | pl.Series,
    judge: str,
    questions: Sequence[str],
    time: str | None = None,
    notes: Iterable[str] = (),
) -> Answers:
    """Return a table with a column of judges and columns of answers as a table of answers."""
    items = source.column(item) if isinstance(item, str) else item
    columns = {"row": pl.int_range(len(items), eager=True), "item": items, "judge": source.column(judge)}
    columns |= {"time": source.column(time)} if time is not None and time in source.columns else {}
    series = [values.alias(name) for name, values in columns.items()]
    labels = {question: _cell_labels(source, question) for question in questions}
    parts = [
        pl.DataFrame([*series, each.alias("label")]).with_columns(question=pl.lit(question))
        for question, each in labels.items()
        if each is not None
    ]
    records = [question for question, each in labels.items() if each is None]
    if records:
        column = "column" if len(records) == 1 else "columns"
        notes = [*notes, f"{column} {quoted(records)}: {NOT_LABELS}"]
    roles = {"item": item if isinstance(item, str) else items.name, "judge": judge}
    roles |= {"time": time} if time is not None and "time" in columns else {}
    table = pl.concat(parts, how="vertical_relaxed") if parts else pl.DataFrame()
    return Answers(table, roles, tuple(notes))


NOT_LABELS = "spans, boxes, rankings and other records are not read, because an item needs one label"


def _cell_labels(source: Source, question: str) -> pl.Series | None:
    """Return the answers in a column, None if they are spans, boxes or other records.

    Several labels in a cell, as a list of JSON or one per line, become one text.
    """
    labels = source.column(question)
    if labels.dtype != pl.String:
        return labels
    texts = labels.str.strip_chars()
    if not texts.str.contains(r"^(\[.*\]|\{.*\})$|\n").any():
        return labels
    values = [_parsed(text) for text in texts.to_list()]
    values = [text.split("\n") if isinstance(text, str) else None if text == {} else text for text in values]
    if any(isinstance(each, dict) for value in values if value is not None for each in _list(value)):
        return None
    joined = [None if value is None else SEVERAL.join(map(str, value)) for value in values]
    return pl.Series(question, joined, dtype=pl.String)


def _question_columns(source: Source, item: str, candidates: Sequence[str], wished: str | None) -> list[str]:
    """Return the columns that are answers: those that differ between the rows of an item, or else all."""
    if wished in source.columns:
        return [str(wished)]
    items = source.column(item).cast(pl.String)
    differ = []
    for name in candidates:
        values = source.column(name)
        if values.dtype == pl.Object or values.dtype.is_nested():
            values = pl.Series([json.dumps(value, default=str) for value in values.to_list()])
        table = pl.DataFrame({"item": items, "value": values.cast(pl.String)}).drop_nulls()
        if table.group_by("item").agg(pl.col("value").n_unique()).get_column("value").max() not in (None, 0, 1):
            differ.append(name)
    return differ or list(candidates)


def _label_studio_min(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert an export of Label Studio as CSV, TSV or JSON-MIN: one row per annotation."""
    names = [*source.columns]
    item = named.get("item") or "id"
    metadata = {item, "annotator", "annotation_id", "created_at", "updated_at", "lead_time"}
    between = names[names.index("id") + 1 : names.index("annotator")] if "id" in names else []
    metadata |= {"agreement", "history"} - {named.get("label")}
    candidates = [name for name in between if name not in metadata] or [name for name in names if name not in metadata]
    questions = _question_columns(source, item, candidates, named.get("label"))
    if len(questions) > 1 and named.get("label") is None:
        raise source.wrong(f"{quoted(questions)} could each be the label: choose one with --label")
    rows, columns = _Rows(), {name: source.column(name).to_list() for name in (item, "annotator", questions[0])}
    for n, (task, judge, label) in enumerate(zip(*columns.values(), strict=True)):
        rows.add(n, task, judge, questions[0], _result_label(_parsed(label)))
    return rows.answers({"item": item, "judge": "annotator"})


def _result_label(value: Any) -> Any:
    """Return the label of a cell of Label Studio: a label, or results such as ``[{"rating": 4}]``."""
    labels = []
    for each in value if isinstance(value, list) else [value]:
        is_label = isinstance(each, dict) and len(each) == 1 and not REGION & each.keys()
        label = _region_label({"value": each, "type": next(iter(each))}) if is_label else each
        labels += label if isinstance(label, list) else [label]
    return labels[0] if len(labels) == 1 else labels or None


def _mturk(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert a batch file of Mechanical Turk or Turkle: Input columns, Answer columns and a worker."""
    judge = named.get("judge") or ("Turkle.Username" if "Turkle.Username" in source.columns else "WorkerId")
    item, time = named.get("item") or "HITId", "SubmitTime"
    answers = [name for name in source.columns if name.startswith("Answer.")]
    notes = []
    if "AssignmentStatus" in source.columns:
        rejected = int((source.column("AssignmentStatus").cast(pl.String) == "Rejected").sum())
        notes += [f"{rejected:,} judgments are of rejected assignments; they are used"] if rejected else []
    if "Answer.taskAnswers" in answers:
        return _task_answers(source, item, judge, notes)
    boxes = _boolean_groups(source, answers)
    others = [name for name in answers if name.rpartition(".")[0] not in boxes]
    if not boxes:
        return _table_answers(source, item, judge, answers, time, notes)
    rows, people, items = _Rows(), source.column(judge).to_list(), source.column(item).to_list()
    for question, options in boxes.items():
        values = {option: source.column(f"{question}.{option}").to_list() for option in options}
        for n in range(len(items)):
            chosen = [option for option in options if str(_trimmed(values[option][n])).lower() == "true"]
            rows.add(n, items[n], people[n], question, chosen or None)
    for question in others:
        labels = _cell_labels(source, question)
        for n, label in enumerate([] if labels is None else labels.to_list()):
            rows.add(n, items[n], people[n], question, label)
    return rows.answers({"item": item, "judge": judge}, notes)


def _boolean_groups(source: Source, answers: Sequence[str]) -> dict[str, list[str]]:
    """Return question -> options, where each option is a column of true and false, such as ``Answer.mood.happy``."""
    groups: dict[str, list[str]] = {}
    others = {"", "Answer"}
    for name in answers:
        question, _, option = name.rpartition(".")
        values = {str(value).strip().lower() for value in source.column(name).drop_nulls().unique()}
        groups.setdefault(question, []).append(option)
        others |= set() if values <= {"true", "false", ""} else {question}
    return {question: options for question, options in groups.items() if question not in others}


def _task_answers(source: Source, item: str, judge: str, notes: Sequence[str]) -> Answers:
    """Convert the answers of the widgets of Mechanical Turk, which are JSON in one column."""
    rows = _Rows()
    columns = (source.column(name).to_list() for name in (item, judge, "Answer.taskAnswers"))
    for n, (hit, worker, text) in enumerate(zip(*columns, strict=True)):
        for answer in (each for each in _list(text) if isinstance(each, dict)):
            for question, value in answer.items():
                if isinstance(value, dict) and "label" in value:
                    value = value["label"]
                elif isinstance(value, dict) and all(isinstance(on, bool) for on in value.values()):
                    value = [option for option, on in value.items() if on] or None
                rows.add(n, hit, worker, question, value)
    return rows.answers({"item": item, "judge": judge}, notes)


def _appen(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert a full report of Appen (Figure Eight): a row per judgment, and columns of inputs, answers and gold."""
    if "_worker_id" not in source.columns:
        raise source.wrong("is an aggregated report of Appen without judges: export the full report")
    item = named.get("item") or "_unit_id"
    names = [
        name
        for name in source.columns
        if not name.startswith(("_", "orig_")) and not name.endswith(("_gold", "_gold_reason"))
    ]
    with_gold = [name for name in names if f"{name}_gold" in source.columns]
    questions = with_gold or _question_columns(source, item, names, named.get("label"))
    notes = []
    for column, description in (("_tainted", "of workers that Appen rejected"), ("_golden", "of test questions")):
        if column in source.columns:
            count = int(source.column(column).cast(pl.String).str.to_lowercase().str.strip_chars().eq("true").sum())
            notes += [f"{count:,} judgments are {description}; they are used"] if count else []
    return _table_answers(source, item, named.get("judge") or "_worker_id", questions, "_created_at", notes)


def _toloka(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert assignments of Toloka: INPUT, OUTPUT, GOLDEN and ASSIGNMENT columns."""
    inputs = [name for name in source.columns if name.startswith("INPUT:")]
    item: str | pl.Series | None = named.get("item") or next(
        (name for name in ("ASSIGNMENT:task_id", "TASK:id") if name in source.columns), None
    )
    if item is None and len(inputs) == 1:
        item = inputs[0]
    if item is None:
        if not inputs:
            raise source.wrong("is a file of Toloka without INPUT columns: name the column of items with --item")
        texts = pl.DataFrame([source.column(name).cast(pl.String).fill_null("") for name in inputs])
        item = texts.select(pl.concat_str(pl.all(), separator=" ").alias(" ".join(inputs))).to_series()
    outputs = [name for name in source.columns if name.startswith("OUTPUT:")]
    notes = []
    golden = [name for name in source.columns if name.startswith("GOLDEN:")]
    control_count = sum(
        int(source.column(name).cast(pl.String).str.strip_chars().fill_null("").ne("").sum()) for name in golden
    )
    notes += [f"{control_count:,} judgments are of control tasks; they are used"] if control_count else []
    if "ASSIGNMENT:status" in source.columns:
        rejected = int((source.column("ASSIGNMENT:status").cast(pl.String) == "REJECTED").sum())
        notes += [f"{rejected:,} judgments are of rejected assignments; they are used"] if rejected else []
    time = next((name for name in ("ASSIGNMENT:submitted", "ASSIGNMENT:started") if name in source.columns), None)
    return _table_answers(source, item, named.get("judge") or "ASSIGNMENT:worker_id", outputs, time, notes)


def _langsmith_feedback(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert feedback of LangSmith: a row per run, key and source, with a score or a value."""
    rows = _Rows()
    for n, record in enumerate(_records(source)):
        feedback_source = record.get("feedback_source")
        origin: Mapping[str, Any] = feedback_source if isinstance(feedback_source, dict) else {}
        judge = record.get("feedback_source.user_id") or origin.get("user_id") or record.get("feedback_source.type")
        value = record.get("score") if record.get("score") not in (None, "") else record.get("value")
        rows.add(n, record["run_id"], judge or origin.get("type") or "feedback", record["key"], value)
    return rows.answers({"item": "run_id", "judge": "feedback_source"})


def _evaluation(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert a table of evaluations by models: a row per example, and a column of scores per evaluator."""
    matches = {name: FEEDBACK.match(name) for name in source.columns if not name.endswith(COMMENTS)}
    judges = {name: str(m["key"] or m["metric"]) for name, m in matches.items() if m is not None}
    wished = named.get("label")
    if wished is not None:
        judges = {
            name: judge
            for name, judge in judges.items()
            if wished in (name, judge) or wished in re.split(r"[./:_-]", judge)
        }
        if not judges:
            raise source.wrong(f"there is no column of scores for {quote(wished)}")
    item = named.get("item") or _item_column(
        source, ("example_id", "reference_example_id", "run_id", "trace_id", "request_id")
    )
    note = f"{quoted(judges.values())} are read as judges of one question; choose a criterion with --label"
    return _unpivoted(source, item, judges, used={"judge": ", ".join(judges)}, notes=[note])


def _is_evaluation(source: Source) -> bool:
    """Whether a table has columns of scores by evaluator, and no judge."""
    scores = [name for name in source.columns if FEEDBACK.match(name) and not name.endswith(COMMENTS)]
    return bool(scores) and not has_column("judge", source.columns)


def _prolific(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert answers of a survey: a row per participant of Prolific or Qualtrics, and a column per item."""
    judge = named.get("judge") or _participant_column(source.columns)
    about = (*PROLIFIC, *QUALTRICS)
    answers = [
        name
        for name in source.columns
        if name.strip().lower() not in about
        and not name.lower().endswith(TIMING)
        and not PROLIFIC_ID.search(name.strip().lower())
    ]
    converted = _transposed_by(source, str(judge), [name for name in answers if name != judge])
    status = next((name for name in source.columns if name.strip().lower() == "status"), None)
    notes = list(converted.notes)
    if status is not None:
        statuses = source.column(status).cast(pl.String).str.to_uppercase()
        unpaid = [text for text in NO_PAYMENT if (statuses == text).any()]
        count = int(statuses.is_in(unpaid).sum())
        who = "participant has" if count == 1 else "participants have"
        notes += [f"{count:,} {who} the status {quoted(unpaid)}; their judgments are used"] if count else []
    return converted._replace(notes=tuple(notes))


def _participant_column(columns: Sequence[str]) -> str | None:
    """Return the column of participants: that of Prolific, or else the response of Qualtrics."""
    prolific = next((name for name in columns if PROLIFIC_ID.search(name.strip().lower())), None)
    is_qualtrics = any(name.strip().lower() == "recordeddate" for name in columns)
    response = next((name for name in columns if name.strip().lower() == "responseid"), None)
    return prolific or (response if is_qualtrics else None)


def _is_prolific(source: Source) -> bool:
    """Whether a table has a row per participant of Prolific or Qualtrics, and no columns of items and labels."""
    return _participant_column(source.columns) is not None and not (
        has_column("label", source.columns) and has_column("item", source.columns)
    )


def _without_descriptions(source: Source) -> Source:
    """Return a table without the rows below the header in which Qualtrics describes its columns, with a note."""
    if not source.text or not any(name.strip().lower() == "recordeddate" for name in source.columns):
        return source
    first = [[str(value) for value in source.column(name).head(2).to_list()] for name in source.columns]
    described = max((n + 1 for values in first for n, value in enumerate(values) if "ImportId" in value), default=0)
    if not described:
        return source
    rows = np.arange(described, len(source.column(source.columns[0])))
    note = f"the {described} rows below the header are descriptions of the columns by Qualtrics; they are not read"
    warnings.warn(f"{source.name}: {note}", AdjudgeWarning, stacklevel=5)
    return replace(
        source,
        column=lambda name: source.column(name).slice(described),
        row=lambda position: source.row(int(rows[position])),
    )


# Wide tables: one row per item and one column per judge, or the other way round.


def _wide(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert a table with one row per item and one column per judge."""
    item = named.get("item") or _item_column(source)
    is_array = source.shape == "array"
    names = [name for name in source.columns if name != item]
    judges = _LabelColumns(names, "") if is_array else _label_columns(source, names)
    if not judges.labels:
        raise source.wrong(f"no column of labels is left (columns: {quoted(source.columns)})")
    columns = f"{_columns(judges.labels)} as judges ({quoted(judges.labels, most=4)})"
    note = f"every row is read as an item, and {columns}{judges.note}"
    notes = [note]
    if is_array:
        snorkel = any("-1" in _distinct(source, name) for name in names)
        advice = f"{option_with('--missing', ['-1'])} leaves it out, if it means that there is no label"
        notes = [f"-1 is read as a label; {advice}"] if snorkel else []
    columns_of = {name: int(name) if is_array else name for name in judges.labels}
    return _unpivoted(source, item, columns_of, used={"judge": "names of columns"}, notes=notes)


def _transposed(source: Source, named: Mapping[str, str | None]) -> Answers:
    """Convert a table with one row per judge and one column per item."""
    judge = named.get("judge") or next(name for name in source.columns if is_usual(name, "judge"))
    return _transposed_by(source, judge, [name for name in source.columns if name != judge])


def _transposed_by(source: Source, judge: str, candidates: Sequence[str]) -> Answers:
    """Return a table with one row per judge as answers."""
    items = _label_columns(source, candidates)
    if not items.labels:
        raise source.wrong(f"no column of labels is left (columns: {quoted(source.columns)})")
    columns = f"{_columns(items.labels)} as items ({quoted(items.labels, most=4)})"
    note = f"every row is read as a judge, and {columns}{items.note}"
    answers = _unpivoted(source, judge, {name: name for name in items.labels}, used={}, notes=[note])
    swapped = answers.table.rename({"item": "judge", "judge": "item"})
    return Answers(swapped, {"item": "names of columns", "judge": judge}, answers.notes)


def _columns(names: Sequence[str]) -> str:
    """Return how many columns there are, in words."""
    return f"{len(names):,} column{'s' if len(names) > 1 else ''}"


class _LabelColumns(NamedTuple):
    """The columns of a wide table that hold labels, and a note about the others."""

    labels: list[str]
    note: str


def _label_columns(source: Source, columns: Sequence[str]) -> _LabelColumns:
    """Return the columns that hold labels: each has few values, and shares one of them with another column."""
    truths = [name for name in columns if name.strip().lower() in NOT_JUDGES]
    distinct = {name: _distinct(source, name) for name in columns if name not in truths}
    values = {name: each for name, each in distinct.items() if each}
    empty = [name for name in distinct if name not in values]
    labels = [
        name
        for name, each in values.items()
        if len(values) == 1 or any(each & other for key, other in values.items() if key != name)
    ]
    others = [name for name in values if name not in labels]
    note = f"; column {quoted(truths)} is not read as a judge: it looks like a truth" if truths else ""
    if others:
        columns_have = "column {} has" if len(others) == 1 else "columns {} have"
        note += (
            f"; {columns_have.format(quoted(others))} no label in common with the others, and no judgment is read there"
        )
    note += f"; {'column' if len(empty) == 1 else 'columns'} {quoted(empty)} {_is(empty)} empty" if empty else ""
    return _LabelColumns(labels, note)


def _is(names: Sequence[str]) -> str:
    """Return the verb for these names."""
    return "is" if len(names) == 1 else "are"


def _distinct(source: Source, name: str) -> set[str]:
    """Return the different values of a column as text, without missing ones."""
    series = source.column(name)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        return set()
    values = series.drop_nulls().unique()
    if values.dtype.is_float():
        values = values.drop_nans()
        integers = values.cast(pl.Int64, strict=False)
        values = integers if integers.cast(pl.Float64).equals(values) else values
    texts = {text.strip().casefold() for text in values.cast(pl.String).to_list()}
    return texts - {"", *(word.casefold() for word in MISSING)}


def _item_column(source: Source, preferred: Sequence[str] = ()) -> str | None:
    """Return the column of items of a wide table: one of a usual name, or a first one with a value per row; or None."""
    names = [*source.columns]
    column = next((name for name in preferred if name in names), None)
    column = column or next((name for name in names if is_usual(name, "item")), None)
    column = column or next((name for name in names if name.strip().lower() in (*ITEM_NAMES, *ALSO["item"])), None)
    column = column or next((name for name in names if is_usual(name, "topic")), None)
    if column is None and names:
        first = source.column(names[0])
        named_by_polars = names[0] == "" or names[0].startswith("_duplicated") or names[0] == "Unnamed: 0"
        if named_by_polars or (first.dtype == pl.String and first.n_unique() == len(first) and len(first) > 2):
            return names[0]
    return column


def _unpivoted(
    source: Source,
    item: str | None,
    judges: Mapping[str, Any],
    used: Mapping[str, str],
    notes: Sequence[str],
) -> Answers:
    """Return a table with one column per judge as answers to one question; empty cells are not judgments."""
    series = {name: source.column(name) for name in judges}
    size = len(next(iter(series.values())))
    rows = pl.int_range(size, eager=True).alias("row")
    items = (rows + int(source.text) if item is None else source.column(item)).alias("item")  # frames count from 0
    parts = []
    for name, judge in judges.items():
        part = pl.DataFrame([rows, items, series[name].alias("label")]).drop_nulls("label")
        parts.append(part.with_columns(judge=pl.lit(judge), question=pl.lit(None, pl.String)))
    table = pl.concat(parts, how="vertical_relaxed").sort("row", maintain_order=True)
    empty = size - table.get_column("row").n_unique()
    if empty:
        notes = [*notes, f"{empty:,} of {size:,} rows {'has' if empty == 1 else 'have'} no label at all"]
    return Answers(table, {"item": item or "number of the row", "label": "cells", **used}, tuple(notes))


def _is_wide(source: Source) -> bool:
    """Whether a table has one column of labels per judge: none of judges or labels, and several that share labels."""
    if source.shape == "array":
        return True
    names = [*source.columns]
    if has_column("judge", names) or has_column("label", names):
        return False
    item = _item_column(source)
    rest = [name for name in names if name != item and name.strip().lower() not in NOT_JUDGES]
    if len(rest) < 2:
        return False
    values = [_distinct(source, name) for name in rest]
    labels = [each for n, each in enumerate(values) if any(each & other for m, other in enumerate(values) if m != n)]
    return len(labels) > 1 and len(set().union(*labels)) <= max(MOST_LABELS, len(source.column(rest[0])) // 2)


def _is_transposed(source: Source) -> bool:
    """Whether a table has one row per judge: judges, no items or labels, and columns that share labels."""
    names = [*source.columns]
    judges = [name for name in names if is_usual(name, "judge")]
    if len(judges) != 1 or has_column("item", names) or has_column("label", names):
        return False
    people = source.column(judges[0]).cast(pl.String)
    rest = [name for name in names if name not in judges and name.strip().lower() not in NOT_JUDGES]
    values = [_distinct(source, name) for name in rest]
    labels = [each for n, each in enumerate(values) if any(each & other for m, other in enumerate(values) if m != n)]
    return people.n_unique() == len(people) and len(labels) > 1 and len(set().union(*labels)) <= MOST_LABELS


def _has(*names: str) -> Callable[[Source], bool]:
    """Return a recogniser of tables that have all of some columns."""
    return lambda source: {*names} <= {*source.columns}


def _has_prefix(prefix: str, *names: str) -> Callable[[Source], bool]:
    """Return a recogniser of tables that have some columns, and one whose name begins with a prefix."""
    return lambda source: _has(*names)(source) and any(name.startswith(prefix) for name in source.columns)


def _is_appen(source: Source) -> bool:
    """Whether a table is a report of Appen, full or aggregated."""
    return "_unit_id" in source.columns and bool(
        {"_worker_id", "_trusted_judgments", "_unit_state"} & {*source.columns}
    )


def _is_label_studio(source: Source) -> bool:
    """Whether a file of JSON is an export of Label Studio."""
    names = {*source.columns}
    return "data" in names and bool(names & {"annotations", "completions"})


def _is_potato(source: Source) -> bool:
    """Whether a table is one of annotations of Potato."""
    names = {*source.columns}
    if "label_annotations" in names or POTATO_STATE in names or {"instance_id", "user_id"} <= names:
        return True
    return "instance_id" in names and any(":::" in name for name in names)


EXPORTS: tuple[Export, ...] = (
    Export("label-studio", "Label Studio (JSON)", _is_label_studio, _label_studio),
    Export(
        "label-studio-min",
        "Label Studio (CSV, TSV, JSON-MIN)",
        _has("id", "annotator", "annotation_id", "lead_time"),
        _label_studio_min,
    ),
    Export("argilla", "Argilla (JSON)", _has("fields", "responses"), _argilla),
    Export(
        "argilla-dataset",
        "Argilla (dataset)",
        lambda source: any(name.endswith(".responses.users") for name in source.columns),
        _argilla_flat,
    ),
    Export("prodigy", "Prodigy (JSONL)", _has("_input_hash", "_task_hash", "answer"), _prodigy),
    Export("doccano", "doccano (JSON, JSONL, CSV)", _is_doccano, _doccano),
    Export("potato", "Potato (JSON, JSONL, CSV, TSV, Parquet)", _is_potato, _potato),
    Export("turkle", "Turkle (CSV)", _has_prefix("Answer.", "HITId", "Turkle.Username"), _mturk),
    Export("mturk", "Mechanical Turk (batch CSV)", _has_prefix("Answer.", "HITId", "WorkerId"), _mturk),
    Export("appen", "Appen, Figure Eight (full report)", _is_appen, _appen),
    Export("toloka", "Toloka (TSV)", _has_prefix("OUTPUT:", "ASSIGNMENT:worker_id"), _toloka),
    Export("mlflow", "MLflow (traces with assessments)", _has("assessments"), _mlflow_traces),
    Export("langsmith", "LangSmith (feedback)", _has("run_id", "key", "score"), _langsmith_feedback),
    Export("evaluation", "evaluations by models (feedback.* or */score columns)", _is_evaluation, _evaluation),
    Export("prolific", "Prolific, Qualtrics (a row per participant)", _is_prolific, _prolific),
    Export("wide", "wide table (a row per item, a column per judge)", _is_wide, _wide),
    Export("wide-transposed", "wide table (a row per judge, a column per item)", _is_transposed, _transposed),
)
