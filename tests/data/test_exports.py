"""Exports of annotation tools and platforms, and wide tables: each sample follows the documented format of its tool."""

import csv
import io
import json
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adjudge.data.exports import EXPORTS
from adjudge.data.judgments import judgment_table
from adjudge.data.read import read
from adjudge.errors import AdjudgeError, AdjudgeWarning

# What every sample says: ann, bob and cat on three items, and cat has not judged the third.
ANSWERS = {
    1: {"ann": "good", "bob": "bad", "cat": "good"},
    2: {"ann": "bad", "bob": "bad", "cat": "bad"},
    3: {"ann": "good", "bob": "good"},
}
TRIPLES = [(item, judge, label) for item, labels in ANSWERS.items() for judge, label in labels.items()]
EXPECTED = [(str(item), judge, label) for item, judge, label in TRIPLES]


def table(rows: Sequence[Mapping[str, Any]], separator: str = ",") -> str:
    """Return rows as separated values."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def lines(rows: Sequence[Any]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def label_studio() -> str:
    """Return tasks with annotations; the user is a number or a record."""
    users = {"ann": {"id": 1, "email": "ann"}, "bob": "bob", "cat": "cat"}
    tasks = []
    for item, labels in ANSWERS.items():
        annotations = [
            {
                "id": 10 * item + n,
                "completed_by": users[judge],
                "result": [
                    {
                        "from_name": "mood",
                        "to_name": "text",
                        "type": "choices",
                        "value": {"choices": [label]},
                        "id": "x",
                    }
                ],
                "was_cancelled": False,
                "ground_truth": False,
                "created_at": f"2024-01-0{item}T00:00:0{n}Z",
                "lead_time": 3.5,
            }
            for n, (judge, label) in enumerate(labels.items())
        ]
        tasks.append({"id": item, "annotations": annotations, "predictions": [], "data": {"text": "t"}, "project": 1})
    return json.dumps(tasks, indent=1)


def argilla() -> str:
    """Return records with responses by question, as a dataset of Argilla writes them to JSON."""
    return json.dumps(
        [
            {
                "id": str(item),
                "status": "completed",
                "_server_id": "0",
                "fields": {"text": "t"},
                "metadata": {},
                "suggestions": {},
                "responses": {"mood": [{"value": label, "user_id": judge} for judge, label in labels.items()]},
                "vectors": {},
            }
            for item, labels in ANSWERS.items()
        ]
    )


def argilla_v1() -> str:
    """Return records with responses by user, as older versions of Argilla write them."""
    return lines(
        [
            {
                "external_id": str(item),
                "fields": {"text": "t"},
                "responses": [
                    {"user_id": judge, "status": "submitted", "values": {"mood": {"value": label}}}
                    for judge, label in labels.items()
                ],
            }
            for item, labels in ANSWERS.items()
        ]
    )


def argilla_dataset() -> list[dict[str, Any]]:
    """Return the rows of a dataset that Argilla has pushed to a hub."""
    return [
        {
            "id": str(item),
            "text": "t",
            "mood.responses": list(labels.values()),
            "mood.responses.users": list(labels),
            "mood.responses.status": ["submitted"] * len(labels),
        }
        for item, labels in ANSWERS.items()
    ]


def prodigy(item: int, judge: str, label: str) -> dict[str, Any]:
    """Return an annotation with options, of which one is accepted."""
    options = [{"id": "good", "text": "Good"}, {"id": "bad", "text": "Bad"}]
    about = {"_input_hash": item, "_task_hash": -item, "_session_id": f"set-{judge}", "_annotator_id": judge}
    return {"text": "t", "options": options, "accept": [label], "answer": "accept", "_timestamp": 1, **about}


def mturk(judge: str, **more: str) -> list[dict[str, Any]]:
    """Return the rows of a batch file, with the worker in a column of this name."""
    return [
        {
            "HITId": item,
            "HITTypeId": "T",
            "Title": "Mood",
            "AssignmentId": f"{item}-{worker}",
            "WorkerId": worker if judge == "WorkerId" else "7",
            "SubmitTime": "Tue Jan 02 03:04:05 PST 2024",
            "Input.text": f"text {item}",
            "Answer.mood": label,
            **({judge: worker} if judge != "WorkerId" else {}),
            **more,
        }
        for item, worker, label in TRIPLES
    ]


def appen() -> list[dict[str, Any]]:
    """Return the rows of a full report."""
    return [
        {
            "_unit_id": item,
            "_created_at": "1/2/2024 03:04:05",
            "_golden": "false",
            "_id": 100 * item + n,
            "_tainted": "false",
            "_trust": 0.9,
            "_worker_id": judge,
            "_country": "X",
            "mood": label,
            "mood_gold": "",
            "text": f"text {item}",
        }
        for n, (item, judge, label) in enumerate(TRIPLES)
    ]


def toloka() -> list[dict[str, Any]]:
    """Return the rows of a file of assignments."""
    return [
        {
            "INPUT:image": item,
            "OUTPUT:mood": label,
            "GOLDEN:mood": "",
            "HINT:text": "",
            "ASSIGNMENT:link": "",
            "ASSIGNMENT:assignment_id": f"a{judge}",
            "ASSIGNMENT:worker_id": judge,
            "ASSIGNMENT:status": "APPROVED",
            "ASSIGNMENT:started": "2024-01-02T03:04:05",
        }
        for item, judge, label in TRIPLES
    ]


def wide(first: str = "item") -> list[dict[str, Any]]:
    """Return a row per item and a column per judge."""
    return [{first: item, **{judge: labels.get(judge, "") for judge in ANSWERS[1]}} for item, labels in ANSWERS.items()]


def transposed(first: str, **more: str) -> list[dict[str, Any]]:
    """Return a row per judge and a column per item."""
    return [
        {first: judge, **more, **{str(item): labels.get(judge, "") for item, labels in ANSWERS.items()}}
        for judge in ANSWERS[1]
    ]


def mlflow() -> str:
    """Return traces with assessments by people and models."""
    return json.dumps(
        [
            {
                "trace_id": str(item),
                "assessments": [
                    {
                        "assessment_name": "mood",
                        "source": {"source_type": "HUMAN" if judge == "ann" else "LLM_JUDGE", "source_id": judge},
                        "feedback": {"value": label},
                    }
                    for judge, label in labels.items()
                ],
            }
            for item, labels in ANSWERS.items()
        ]
    )


def label_studio_csv(sentiment: Callable[[str], str] = str) -> str:
    """Return annotations in columns in the order of the alphabet, as newer versions of Label Studio write them."""
    rows = [
        {
            "agreement": 66.7,
            "annotation_id": 10 * item + n,
            "annotator": judge,
            "created_at": f"2025-01-0{item}T00:00:0{n}Z",
            "history": json.dumps([{"action": n}]),
            "id": item,
            "lead_time": 2.5 + n,
            "sentiment": sentiment(label),
            "text": f"text {item}, with a comma",
            "updated_at": f"2025-01-0{item}T00:00:0{n}Z",
        }
        for n, (item, judge, label) in enumerate(TRIPLES)
    ]
    return table(rows)


def potato_2(cell: Callable[[str], tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per instance and user, as Potato 2 exports them; ``cell`` has the field of a label and its value."""
    return [
        {"instance_id": str(item), "user_id": judge, f"mood.{cell(label)[0]}": cell(label)[1]}
        for item, judge, label in TRIPLES
    ]


SAMPLES: dict[str, tuple[str, str, Callable[[], str], str]] = {  # name -> export, name of the file, content, note
    "Label Studio JSON": ("label-studio", "project.json", label_studio, ""),
    "Label Studio CSV": (
        "label-studio-min",
        "project.csv",
        lambda: table(
            [
                {
                    "text": f"text {item}",
                    "id": item,
                    "mood": label,
                    "annotator": judge,
                    "annotation_id": 1,
                    "created_at": "2024",
                    "updated_at": "2024",
                    "lead_time": 2.5,
                }
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "Label Studio JSON-MIN": (
        "label-studio-min",
        "project.json",
        lambda: json.dumps(
            [
                {"id": item, "text": f"t{item}", "mood": label, "annotator": judge, "annotation_id": 1, "lead_time": 1}
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "Label Studio CSV in the order of the alphabet": ("label-studio-min", "project.csv", label_studio_csv, ""),
    "Label Studio CSV with results": (
        "label-studio-min",
        "project.csv",
        lambda: label_studio_csv(lambda label: json.dumps([{"choices": [label]}])),
        "",
    ),
    "Label Studio JSON-MIN with results": (
        "label-studio-min",
        "project.json",
        lambda: json.dumps(
            [
                {
                    "id": item,
                    "text": "t",
                    "mood": [{"rating": label}],
                    "annotator": n,
                    "annotation_id": n,
                    "lead_time": 1,
                }
                | {"annotator": judge}
                for n, (item, judge, label) in enumerate(TRIPLES)
            ]
        ),
        "",
    ),
    "Argilla by record": (
        "argilla",
        "records.json",
        lambda: json.dumps({record["id"]: record for record in json.loads(argilla())}),
        "",
    ),
    "Argilla JSON": ("argilla", "records.json", argilla, ""),
    "Argilla JSON before version 2": ("argilla", "records.jsonl", argilla_v1, ""),
    "Argilla dataset": ("argilla-dataset", "records.jsonl", lambda: lines(argilla_dataset()), ""),
    "Prodigy": ("prodigy", "annotations.jsonl", lambda: lines([prodigy(*triple) for triple in TRIPLES]), ""),
    "doccano with users": (
        "doccano",
        "project.json",
        lambda: lines(
            [
                {
                    "id": item,
                    "text": "t",
                    "annotations": [{"label": label, "user": judge, "id": 1} for judge, label in labels.items()],
                    "meta": {},
                }
                for item, labels in ANSWERS.items()
            ]
        ),
        "",
    ),
    "Potato JSONL": (
        "potato",
        "annotated_instances.jsonl",
        lambda: lines(
            [
                {
                    "user": judge,
                    "instance_id": str(item),
                    "displayed_text": "t",
                    "label_annotations": {"mood": {label: "true"}},
                    "span_annotations": {},
                    "behavioral_data": {"time_string": "3s"},
                }
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "Potato TSV": (
        "potato",
        "annotated_instances.tsv",
        lambda: table(
            [
                {"user": judge, "instance_id": item, "displayed_text": "t", f"mood:::{label}": "true"}
                for item, judge, label in TRIPLES
            ],
            "\t",
        ),
        "",
    ),
    "Potato 2, CSV": ("potato", "annotations.csv", lambda: table(potato_2(lambda label: (label, "true"))), ""),
    "Potato 2, menu": ("potato", "annotations.csv", lambda: table(potato_2(lambda label: ("select-one", label))), ""),
    "Potato 2, JSONL": (
        "potato",
        "annotations.jsonl",
        lambda: lines(
            [
                {
                    "instance_id": str(item),
                    "user_id": judge,
                    "labels": {"mood": {label: label}},
                    "spans": {},
                    "links": {},
                }
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "Potato, menu": (
        "potato",
        "annotated_instances.jsonl",
        lambda: lines(
            [
                {"user": judge, "instance_id": str(item), "label_annotations": {"mood": {"select-one": label}}}
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "Turkle": ("turkle", "batch.csv", lambda: table(mturk("Turkle.Username")), ""),
    "Mechanical Turk": ("mturk", "Batch_1_batch_results.csv", lambda: table(mturk("WorkerId")), ""),
    "Mechanical Turk widgets": (
        "mturk",
        "batch.csv",
        lambda: table(
            [
                {"HITId": item, "WorkerId": judge, "Answer.taskAnswers": json.dumps([{"mood": {"label": label}}])}
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "Mechanical Turk radio buttons": (
        "mturk",
        "batch.csv",
        lambda: table(
            [
                {
                    "HITId": item,
                    "WorkerId": judge,
                    **{f"Answer.mood.{name}": str(name == label).lower() for name in ("good", "bad")},
                }
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "Appen": ("appen", "f123.csv", lambda: table(appen()), ""),
    "Toloka": ("toloka", "assignments.tsv", lambda: table(toloka(), "\t"), ""),
    "MLflow": ("mlflow", "traces.json", mlflow, ""),
    "LangSmith feedback": (
        "langsmith",
        "feedback.jsonl",
        lambda: lines(
            [
                {"run_id": str(item), "key": "mood", "score": None, "value": label, "feedback_source": {"type": judge}}
                for item, judge, label in TRIPLES
            ]
        ),
        "",
    ),
    "LangSmith experiment": (
        "evaluation",
        "experiment.csv",
        lambda: table(
            [
                {
                    "example_id": item,
                    "inputs.question": "q",
                    **{f"feedback.{judge}": labels.get(judge, "") for judge in ANSWERS[1]},
                    "feedback.ann.comment": "because",
                }
                for item, labels in ANSWERS.items()
            ]
        ),
        "'ann', 'bob', 'cat' are read as judges of one question; choose a criterion with label=",
    ),
    "MLflow evaluation": (
        "evaluation",
        "eval_results_table.json",
        lambda: json.dumps(
            [
                {
                    "id": item,
                    **{f"{judge}/v1/score": label for judge, label in labels.items()},
                    "ann/v1/justification": "",
                }
                for item, labels in ANSWERS.items()
            ]
        ),
        "'ann', 'bob', 'cat' are read as judges of one question; choose a criterion with label=",
    ),
    "Prolific": (
        "prolific",
        "survey.csv",
        lambda: table(transposed("PROLIFIC_PID", Status="APPROVED", Age="31")),
        "every row is read as a judge, and 3 columns as items ('1', '2', '3')",
    ),
    "wide": (
        "wide",
        "labels.csv",
        lambda: table(wide()),
        "every row is read as an item, and 3 columns as judges ('ann', 'bob', 'cat')",
    ),
    "transposed": (
        "wide-transposed",
        "labels.csv",
        lambda: table(transposed("worker")),
        "every row is read as a judge, and 3 columns as items ('1', '2', '3')",
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_export_is_read_by_its_content(name: str, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """A file is recognised without options, gives exactly the judgments that it holds, and says how it was read."""
    export, file, content, note = SAMPLES[name]
    path = tmp_path / file
    path.write_text(content())
    judgments = read(path)
    rows = judgment_table(judgments).select("item", "judge", "label").rows()
    assert sorted((str(item), judge, label) for item, judge, label in rows) == sorted(EXPECTED)
    notes = [str(warning.message) for warning in recwarn if "no label" not in str(warning.message)]
    assert notes == ([f"{path}: {note}"] if note else [])
    title = next(each.title for each in EXPORTS if each.name == export)
    assert judgments.origin is not None
    assert judgments.origin.shape == title
    assert title in judgments.summary["value"].to_list()


def test_every_export_has_a_sample() -> None:
    """What is listed is tested; doccano and Argilla have several forms."""
    assert {export for export, *_ in SAMPLES.values()} == {export.name for export in EXPORTS}


def notes_of(recwarn: pytest.WarningsRecorder) -> list[str]:
    """Return all notes, and forget them."""
    notes = [str(warning.message) for warning in recwarn]
    recwarn.clear()
    return notes


def rows_of(data: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Return the judgments of an object or a file as sorted rows."""
    return sorted(judgment_table(read(data, **options)).select("item", "judge", "label").rows())


def texts_of(data: Any, **options: Any) -> list[tuple[str, ...]]:
    """Return the judgments of an object or a file as sorted rows of texts."""
    return [tuple(map(str, row)) for row in rows_of(data, **options)]


def refusal(data: Any, **options: Any) -> str:
    """Return what an object or a file is refused with."""
    with pytest.raises(AdjudgeError) as caught:
        read(data, **options)
    return str(caught.value)


ARRAY = np.array([["good", "bad", "good"], ["bad", "bad", "bad"], ["good", "good", None]], dtype=object)
NUMBERS = np.array([[1, 0, 1], [0, 0, 0], [1, 1, np.nan]])


class FakeDataset:
    """A dataset as that of Hugging Face: columns, features with names of classes, and a polars frame."""

    def __init__(self, table: pl.DataFrame, classes: list[str]) -> None:
        self.table = table
        self.column_names = table.columns
        self.features: dict[str, Any] = {name: type("Value", (), {})() for name in table.columns}
        self.features["label"].names = classes

    def __len__(self) -> int:
        return self.table.height

    def to_polars(self) -> pl.DataFrame:
        """Return the table, with classes as numbers."""
        return self.table


LONG = pl.DataFrame(TRIPLES, schema=["item", "judge", "label"], orient="row")
CODED = LONG.with_columns(pl.col("label").replace_strict({"bad": 0, "good": 1}))


@pytest.mark.parametrize(
    "data",
    [
        ANSWERS,
        TRIPLES,
        iter(TRIPLES),
        [dict(zip(("item", "judge", "label"), row, strict=True)) for row in TRIPLES],
        LONG.to_dict(as_series=False),
        LONG.to_dict(),
        FakeDataset(CODED, ["bad", "good"]),
        LONG.to_pandas().set_index(["item", "judge"]),
        np.array(TRIPLES, dtype=[("item", int), ("judge", "U3"), ("label", "U4")]),
    ],
    ids=["nested", "tuples", "iterator", "records", "lists", "series", "dataset", "pandas index", "structured array"],
)
def test_objects_of_python(data: Any) -> None:
    """The same judgments come out of every object that holds them, without a note."""
    assert rows_of(data) == sorted(TRIPLES)


def test_arrays_of_items_by_judges(recwarn: pytest.WarningsRecorder) -> None:
    """Items and judges are numbered from 0; a missing cell is no judgment."""
    expected = [(i, j, ARRAY[i, j]) for i in range(3) for j in range(3) if ARRAY[i, j] is not None]
    assert rows_of(ARRAY) == expected
    assert rows_of(NUMBERS) == [(i, j, int(label == "good")) for i, j, label in expected]
    assert notes_of(recwarn) == ["table: 1 of 9 judgments have no label (empty); they are left out"]
    assert refusal(np.zeros(3)) == (
        "table: the array has 1 dimensions, expected 2: items in rows and judges in columns"
    )
    assert refusal(np.zeros((0, 3))) == "table: the array is empty"


def test_cleanlab_frames_have_one_column_per_judge(recwarn: pytest.WarningsRecorder) -> None:
    """A frame of labels is read with its index as the items, or else with their numbers."""
    frame = pd.DataFrame(NUMBERS, columns=["ann", "bob", "cat"])
    expected = [(i, ["ann", "bob", "cat"][j], int(NUMBERS[i, j])) for i in range(3) for j in range(3) if i + j < 4]
    assert rows_of(frame) == expected
    assert rows_of(frame.set_axis(["x", "y", "z"])) == [("xyz"[i], judge, label) for i, judge, label in expected]
    wide = "table: every row is read as an item, and 3 columns as judges ('ann', 'bob', 'cat')"
    assert [note for note in notes_of(recwarn) if "no label" not in note] == [wide, wide]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "table: the dictionary is empty"),
        ([], "table: holds no rows"),
        ({"a": "yes"}, "table: a dictionary of judgments is {item: {judge: label}}, or has a list of values for each "
         "column; the value of 'a' is str"),
        ([("a", "x")], "table, row 0: a row has 2 values, expected three: item, judge, label"),
        ([1], "table, row 0: a row has int, expected three: item, judge, label"),
        ({"train": FakeDataset(CODED, []), "test": FakeDataset(CODED, [])},
         "table: is a dictionary of datasets: choose one of 'train', 'test', as in data['train']"),
        ({"item": [1], "judge": [], "label": [1]},
         "table: the columns have different lengths: 'item' 1, 'judge' 0, 'label' 1"),
        (None, "NoneType is not a table: give a path, or a pandas, polars or pyarrow frame"),
    ],
)  # fmt: skip
def test_objects_that_are_no_judgments(data: Any, message: str) -> None:
    """They are refused with what to give instead."""
    assert refusal(data) == message


@pytest.mark.parametrize("suffix", ["arrow", "feather"])
def test_arrow_files(tmp_path: Path, suffix: str) -> None:
    """Files and streams of Arrow are recognised by their first bytes, and damaged ones are refused."""
    path = tmp_path / f"labels.{suffix}"
    LONG.write_ipc(path)
    assert rows_of(path) == sorted(TRIPLES)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, LONG.to_arrow().schema) as writer:
        writer.write_table(LONG.to_arrow())
    assert rows_of(path) == sorted(TRIPLES)
    path.write_bytes(path.read_bytes()[:100])
    assert refusal(path) == f"{path}: the Arrow file is damaged, or was cut off while it was written or copied"


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    """Return a workbook with these sheets; a cell is a number, a text, or an error such as #N/A."""
    parts = {}
    for n, rows in enumerate(sheets.values(), 1):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{n}.xml"] = SHEET.format(lines)
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts["xl/workbook.xml"] = f'<workbook xmlns="{main}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>'
    parts["xl/_rels/workbook.xml.rels"] = f'<Relationships xmlns="{package}/relationships">{links}</Relationships>'
    parts["_rels/.rels"] = (
        f'<Relationships xmlns="{package}/relationships"><Relationship Id="w" Type="{OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'
    )
    parts["[Content_Types].xml"] = f'<Types xmlns="{package}/content-types"/>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def cell(value: Any) -> str:
    """Return a cell of a sheet."""
    if value is None:
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="e"><v>{value}</v></c>' if value.startswith("#") else f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def test_excel_workbooks(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """The first sheet with rows is read; numbers stay whole, errors and empty cells are missing labels."""
    path = tmp_path / "labels.xlsx"
    rows = [("item", "judge", "label"), *TRIPLES, (3, "cat", "#N/A")]
    path.write_bytes(workbook(Empty=[], Labels=rows, Notes=[("a",)]))
    assert rows_of(path) == EXPECTED
    assert notes_of(recwarn) == [
        f"{path}: sheet 'Labels' is read, and 'Notes' is not read",
        f"{path}: 1 of 9 judgments have no label (empty); they are left out",
    ]
    path.write_bytes(workbook(Labels=[("item", "ann", "bob"), (1, 5, 4.5), (2, 4.5, 5)]))
    assert rows_of(path) == [("1", "ann", "5"), ("1", "bob", "4.5"), ("2", "ann", "4.5"), ("2", "bob", "5")]
    assert len(notes_of(recwarn)) == 1
    path.write_bytes(workbook(Labels=[]))
    assert refusal(path) == f"{path}: the Excel workbook is empty"
    path.write_bytes(workbook(Labels=[("item", "label", "label")]))
    assert refusal(path) == f"{path}, row 1: two columns are called 'label': rename one"
    path.write_bytes(workbook(Labels=rows)[:-200])
    assert refusal(path) == f"{path}: the Excel workbook is damaged, or protected with a password"


def test_excel_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to install it."""
    path = tmp_path / "labels.xlsx"
    path.write_bytes(workbook(Labels=[("item", "judge", "label"), ("a", "x", "yes")]))
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    assert refusal(path) == (
        "reading an Excel workbook needs 'adjudge[excel]', which is not installed: pip install 'adjudge[excel]'"
    )


def written(path: Path, content: str) -> Path:
    """Write a file, and return its path."""
    path.write_text(content)
    return path


def test_several_questions_are_asked_for(tmp_path: Path) -> None:
    """A file with several questions is refused with their names; --label chooses one, with or without its prefix."""
    rows = [{**row, "Answer.comment": "fine"} for row in mturk("WorkerId")]
    path = written(tmp_path / "batch.csv", table(rows))
    assert refusal(path) == (
        f"{path}: is recognised as Mechanical Turk (batch CSV) with several questions ('Answer.mood', "
        "'Answer.comment'): choose one with label="
    )
    assert rows_of(path, label="Answer.mood") == rows_of(path, label="mood") == EXPECTED
    assert refusal(path, label="colour") == (
        f"{path}: there is no question 'colour' (questions: 'Answer.mood', 'Answer.comment')"
    )
    by_input = [(f"text {item}", judge, label) for item, judge, label in EXPECTED]
    assert rows_of(path, label="mood", item="Input.text") == by_input


def test_columns_that_are_named_are_read_as_they_are(tmp_path: Path) -> None:
    """A table whose three columns the user names is not converted."""
    path = written(tmp_path / "batch.csv", table(mturk("WorkerId")))
    judgments = read(path, item="HITId", judge="WorkerId", label="Answer.mood")
    assert judgments.origin is not None
    assert judgments.origin.shape == "long"


def test_label_studio_in_detail(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Skipped tasks have no label, several choices are one label, and regions and predictions are not read."""
    choice = {"from_name": "mood", "type": "choices", "value": {"choices": ["a", "b"]}}
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["car"]}}
    annotations = [
        {"completed_by": 1, "result": [choice, box]},
        {"completed_by": 2, "result": [], "was_cancelled": True},
        {"completed_by": 3, "result": [{"from_name": "mood", "type": "rating", "value": {"rating": 4}}]},
    ]
    tasks = [{"id": 7, "data": {}, "annotations": annotations, "predictions": [{"result": []}]}]
    path = written(tmp_path / "project.json", json.dumps(tasks))
    assert rows_of(path) == [(7, 1, "a|b"), (7, 3, "4")]
    assert notes_of(recwarn) == [
        f"{path}: 1 regions (spans, boxes) are not read",
        f"{path}: 1 predictions of models are not read",
        f"{path}: 1 judgments have several labels, which are read as one, such as 'a|b'",
        f"{path}: 1 of 3 judgments have no label (empty); they are left out, and 1 judge without any other judgment",
    ]
    path.write_text(json.dumps([{"id": 7, "data": {}, "annotations": [{"completed_by": 1, "result": [box]}]}]))
    assert refusal(path) == (
        f"{path}: is a file of Label Studio with regions (spans, boxes), not with one label per item"
    )


def test_prodigy_in_detail(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Accept and reject are labels of a binary task; ignored tasks have none; a missing annotator is the file."""
    rows = [
        {"_input_hash": 1, "_task_hash": 1, "label": "SPAM", "answer": answer, "_session_id": judge}
        for answer, judge in (("accept", "ann"), ("reject", "bob"), ("ignore", "cat"), ("accept", None))
    ]
    path = written(tmp_path / "spam.jsonl", lines(rows))
    assert rows_of(path) == [(1, "ann", "accept"), (1, "bob", "reject"), (1, "spam", "accept")]
    assert notes_of(recwarn) == [
        f"{path}: 1 annotations do not say who made them; their judge is 'spam'",
        f"{path}: 1 of 4 judgments have no label (empty); they are left out, and 1 judge without any other judgment",
    ]


def test_doccano_writes_one_file_per_user(tmp_path: Path) -> None:
    """The judge is the name of the file, with a note; spans are refused."""
    path = written(tmp_path / "ann.jsonl", lines([{"id": 1, "text": "t", "label": ["good"], "Comments": []}]))
    with pytest.warns(AdjudgeWarning) as notes:
        assert rows_of(path) == [(1, "ann", "good")]
    assert [str(note.message) for note in notes] == [
        f"{path}: doccano writes one file per user, and does not name the user in it; the judge is 'ann', the name of "
        "the file"
    ]
    path.write_text(lines([{"id": 1, "text": "t", "label": [[0, 3, "PER"]]}]))
    assert refusal(path) == f"{path}, row 1: is a file of doccano with spans, not with one label per text"


def test_potato_in_folders_of_users(tmp_path: Path) -> None:
    """Older versions write a folder per user; a box that is not checked is no label."""
    folder = tmp_path / "ann"
    folder.mkdir()
    row = {
        "id": "i1",
        "displayed_text": "t",
        "label_annotations": {"mood": {"glad": "true", "sad": False}},
    }
    path = written(folder / "annotated_instances.jsonl", lines([row]))
    with pytest.warns(AdjudgeWarning, match="the judge is 'ann', the name of the folder"):
        assert rows_of(path) == [("i1", "ann", "glad")]


def test_notes_of_platforms(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Rejected assignments, test questions and control tasks are used, and the user is told."""
    path = written(tmp_path / "batch.csv", table(mturk("WorkerId", AssignmentStatus="Rejected")))
    assert rows_of(path) == EXPECTED
    assert notes_of(recwarn) == [f"{path}: 8 judgments are of rejected assignments; they are used"]
    path = written(tmp_path / "appen.csv", table([{**row, "_golden": "true", "_tainted": "TRUE"} for row in appen()]))
    assert rows_of(path) == EXPECTED
    assert notes_of(recwarn) == [
        f"{path}: 8 judgments are of workers that Appen rejected; they are used",
        f"{path}: 8 judgments are of test questions; they are used",
    ]
    path = written(tmp_path / "toloka.tsv", table([{**row, "GOLDEN:mood": "good"} for row in toloka()], "\t"))
    assert rows_of(path) == EXPECTED
    assert notes_of(recwarn) == [f"{path}: 8 judgments are of control tasks; they are used"]
    path = written(tmp_path / "aggregated.csv", "_unit_id,_trusted_judgments,mood\n1,3,good\n")
    assert refusal(path) == f"{path}: is an aggregated report of Appen without judges: export the full report"


def test_answers_without_gold_columns_are_those_that_differ(tmp_path: Path) -> None:
    """In a report of Appen without test questions, inputs are the same in all rows of a unit, and answers are not."""
    rows = [{name: value for name, value in row.items() if name != "mood_gold"} for row in appen()]
    assert rows_of(written(tmp_path / "f1.csv", table(rows))) == EXPECTED


def test_toloka_items_of_several_inputs(tmp_path: Path) -> None:
    """Without ids of tasks, the inputs together are the item."""
    path = written(tmp_path / "a.tsv", table([{"INPUT:page": "p", **row} for row in toloka()], "\t"))
    assert rows_of(path) == [(f"p {item}", judge, label) for item, judge, label in EXPECTED]


def test_kinds_of_judges_in_traces(tmp_path: Path) -> None:
    """MLflow says which assessments are by people and which by models."""
    judgments = read(written(tmp_path / "traces.json", mlflow()))
    assert judgments.panel is not None
    kinds = dict(zip(judgments.judges.to_list(), judgments.panel.kind, strict=True))
    assert kinds == {"ann": "person", "bob": "machine", "cat": "machine"}


def test_a_criterion_of_evaluations(tmp_path: Path) -> None:
    """--label chooses the columns of one criterion."""
    row = {"id": 1, "feedback.gpt.safe": 1, "feedback.claude.safe": 0, "feedback.gpt.useful": 1}
    path = written(tmp_path / "runs.csv", table([row, {**row, "id": 2}]))
    with pytest.warns(AdjudgeWarning, match="'gpt.safe', 'claude.safe' are read as judges of one question"):
        assert rows_of(path, label="safe")[:2] == [("1", "claude.safe", "0"), ("1", "gpt.safe", "1")]
    assert refusal(path, label="kind") == f"{path}: there is no column of scores for 'kind'"


def test_a_shape_may_be_named(tmp_path: Path) -> None:
    """A wide table with one judge is not recognised, and can be named."""
    path = written(tmp_path / "labels.csv", "item,ann\n1,yes\n2,no\n")
    with pytest.warns(AdjudgeWarning, match="every row is read as an item, and 1 column as judges"):
        assert rows_of(path, format="wide") == [("1", "ann", "yes"), ("2", "ann", "no")]
    assert refusal(written(path, "item,gold\n1,yes\n"), format="wide") == (
        f"{path}: no column of labels is left (columns: 'item', 'gold')"
    )


def test_a_file_without_annotations(tmp_path: Path) -> None:
    """An export of a project in which nobody has annotated yet is refused in words."""
    path = written(tmp_path / "project.json", json.dumps([{"id": 1, "data": {}, "annotations": []}]))
    assert refusal(path) == f"{path}: is recognised as Label Studio (JSON), and holds no judgments"


def test_columns_that_a_shape_cannot_have(tmp_path: Path) -> None:
    """What the user names is used or refused, never ignored."""
    path = written(tmp_path / "project.json", label_studio())
    title = "is recognised as Label Studio (JSON)"
    assert refusal(path, item="data") == f"{path}: {title}, where the item is id: leave out item="
    assert refusal(path, item="url").startswith(f"{path}: there is no column 'url' for the item (columns: 'id', ")
    assert refusal(path, topic="data") == (
        f"{path}: {title}, for which topic= cannot be given: name item=, judge= and label= as well to read the "
        "table as it is"
    )


@pytest.mark.parametrize(
    "records",
    [
        [{"id": 1, "data": {}, "annotations": ["x"]}],
        [{"id": 1, "data": {}, "annotations": [{"result": 3}]}, {"id": 2, "data": {}, "annotations": 3}],
        [{"fields": {}, "responses": [1]}],
        [{"label_annotations": {"mood": "good"}}],
        [{"assessments": [3]}],
        [{"mood.responses": 1, "mood.responses.users": 1, "id": []}],
    ],
    ids=str,
)
def test_a_file_that_only_looks_like_an_export(tmp_path: Path, records: list[Any]) -> None:
    """Other values under the names of an export are refused in one line."""
    path = written(tmp_path / "odd.json", json.dumps(records))
    assert "\n" not in refusal(path)


def test_potato_fields_and_states(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """The number or text in a field is the label, several fields are questions, and comments are not read."""
    rows = [
        {"user": "ann", "instance_id": f"i{n}", "label_annotations": {"quality": {"clear": str(n), "fluent": "0"}}}
        for n in range(3)
    ]
    path = written(tmp_path / "annotated_instances.jsonl", lines(rows))
    assert "('quality.clear', 'quality.fluent'): choose one with label=" in refusal(path)
    assert texts_of(path, label="quality.clear") == [("i0", "ann", "0"), ("i1", "ann", "1"), ("i2", "ann", "2")]
    label = {"schema": "mood", "name": "good"}
    comment = [{"schema": "mood", "name": "free_response"}, "because"]
    for user, value in (("ann", True), ("bob", "good")):
        folder = tmp_path / "annotation_output" / user
        folder.mkdir(parents=True)
        state = {"user_id": user, "instance_id_to_label_to_value": {"i1": [[label, value], comment]}}
        (folder / "user_state.json").write_text(json.dumps(state))
        (folder / "assigned.json").write_text("{}")
    assert texts_of(tmp_path / "annotation_output") == [("i1", "ann", "good"), ("i1", "bob", "good")]
    frame = pd.DataFrame({"instance_id": ["i1", "i1"], "user_id": ["ann", "bob"], "mood": ["good", "bad"]})
    assert texts_of(frame) == [("i1", "ann", "good"), ("i1", "bob", "bad")]


def test_archives_and_folders(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """A file per judge is read as one table; an archive of one table is that table; others are refused."""
    path = tmp_path / "project.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for judge in ("ann", "bob"):
            rows = [{"id": n, "text": "t", "label": [judge[0]] if n else ["a"], "Comments": []} for n in range(2)]
            archive.writestr(f"{judge}.jsonl", lines(rows))
        archive.writestr("__MACOSX/._ann.jsonl", "x")
    assert texts_of(path) == [("0", "ann", "a"), ("0", "bob", "a"), ("1", "ann", "a"), ("1", "bob", "b")]
    assert len(notes_of(recwarn)) == 1  # not one per file
    (tmp_path / "folder").mkdir()
    for name, content in {"ann.csv": "id,text,label\n1,t,yes\n", "bob.csv": "id,text,label\nx,t,no\n"}.items():
        written(tmp_path / "folder" / name, content)
    assert texts_of(tmp_path / "folder") == [("1", "ann", "yes"), ("x", "bob", "no")]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/labels.csv", "item,judge,label\na,x,yes\n")
    assert texts_of(path) == [("a", "x", "yes")]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README.txt", "x")
    assert "is an archive without tables: expected files whose names end in .csv" in refusal(path)
    path.write_bytes(b"PK\x03\x04rubbish")
    assert refusal(path).endswith("the compressed file is damaged or cut off")


def test_what_is_no_label_is_not_read(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Spans, boxes, rankings and videos are refused, or left out with a note if there is another question."""
    ranking = [{"value": "a", "rank": 1}, {"value": "b", "rank": 2}]
    record = {"id": "1", "fields": {}, "responses": {"order": [{"value": ranking, "user_id": "u"}]}}
    reason = "spans, boxes, rankings and other records are not read, because an item needs one label (1 answers)"
    assert reason in refusal(written(tmp_path / "argilla.json", json.dumps([record])))
    record["responses"] |= {"mood": [{"value": "good", "user_id": "u"}]}
    path = written(tmp_path / "argilla.json", json.dumps([record]))
    assert texts_of(path) == [("1", "u", "good")]
    assert notes_of(recwarn) == [f"{path}: {reason}"]
    about = {"_input_hash": 1, "_task_hash": 1, "answer": "accept", "_annotator_id": "a", "_session_id": "a"}
    spans = {**about, "spans": [{"start": 0, "end": 1, "label": "X"}]}
    assert reason in refusal(written(tmp_path / "manual.jsonl", lines([{**spans, "_view_id": "ner_manual"}])))
    assert (
        texts_of(written(tmp_path / "teach.jsonl", lines([{**spans, "_view_id": "ner", "_is_binary": True}])))[0][2]
        == "accept"
    )
    assert texts_of(written(tmp_path / "typed.jsonl", lines([{**about, "user_input": "7"}])))[0][2] == "7"
    video = {
        "from_name": "box",
        "type": "videorectangle",
        "value": {"framesCount": 9, "sequence": [], "labels": ["car"]},
    }
    tasks = [{"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": [video]}]}]
    assert "with regions (spans, boxes)" in refusal(written(tmp_path / "video.json", json.dumps(tasks)))
    boxes = [{"annotatedResult": {"boundingBoxes": [{"left": 1}], "inputImageProperties": {}}}]
    task = [{"HITId": 1, "WorkerId": "w", "Answer.taskAnswers": json.dumps(boxes)}]
    assert reason in refusal(written(tmp_path / "mturk.csv", table(task)))
    cell = [{"start": 0, "end": 4, "text": "some", "labels": ["PER"]}]
    path = written(tmp_path / "spans.csv", label_studio_csv(lambda label: json.dumps([*cell, label])))
    assert "(8 answers)" in refusal(path)


def test_cells_with_several_labels(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Lists of JSON, lines in a cell and boxes beside a text are labels; an empty record is none."""
    rows = [{**row, "mood": f"{row['mood']}\nloud"} for row in appen()]
    assert texts_of(written(tmp_path / "appen.csv", table(rows)))[0] == ("1", "ann", "good|loud")
    rows = [{**row, "OUTPUT:mood": json.dumps([row["OUTPUT:mood"], "loud"])} for row in toloka()]
    assert texts_of(written(tmp_path / "toloka.tsv", table(rows, "\t")))[0] == ("1", "ann", "good|loud")
    rows = [
        {"HITId": 1, "WorkerId": judge, "Answer.q.yes": yes, "Answer.q.no": no, "Answer.note": "{}"}
        for judge, yes, no in (("a", "true", "false"), ("b", "false", "true"))
    ]
    path = written(tmp_path / "mturk.csv", table(rows))
    assert "('Answer.q', 'Answer.note'): choose one with label=" in refusal(path)
    assert texts_of(path, label="q") == [("1", "a", "yes"), ("1", "b", "no")]
    assert "every label is missing" in refusal(path, label="note")


def test_surveys(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """What Qualtrics adds are not answers, and a form that asks for the Prolific ID is a survey."""
    about = {"StartDate": "2025", "Status": "IP Address", "Progress": "100", "RecordedDate": "2025", "ResponseId": "R"}
    answers = [
        {**about, "Q1": "100", "Q2": score, "Q1_Click Count": "3", "PROLIFIC_PID": judge}
        for judge, score in (("p1", "3"), ("p2", "100"))
    ]
    questions = {name: f"Text of {name}" for name in answers[0]}
    identifiers = {name: json.dumps({"ImportId": name}) for name in answers[0]}
    path = written(tmp_path / "survey.csv", table([questions, identifiers, *answers]))
    expected = [("Q1", "p1", "100"), ("Q1", "p2", "100"), ("Q2", "p1", "3"), ("Q2", "p2", "100")]
    assert texts_of(path) == expected
    assert notes_of(recwarn) == [
        f"{path}: the 2 rows below the header are descriptions of the columns by Qualtrics; they are not read",
        f"{path}: every row is read as a judge, and 2 columns as items ('Q1', 'Q2')",
    ]
    for answer in answers:
        answer["ResponseId"] = answer.pop("PROLIFIC_PID")
    assert texts_of(written(tmp_path / "survey.csv", table(answers))) == expected
    form = [{"Timestamp": "1", "What is your Prolific ID?": judge, "A?": "yes", "B?": "yes"} for judge in ("p1", "p2")]
    assert texts_of(written(tmp_path / "form.csv", table(form)))[0] == ("A?", "p1", "yes")
    notes_of(recwarn)
    joined = [
        {"Participant id": judge, "Status": status, "Q1": "a"}
        for judge, status in (("p", "APPROVED"), ("q", "RETURNED"))
    ]
    read(written(tmp_path / "joined.csv", table(joined)))
    assert notes_of(recwarn)[-1].endswith("1 participant has the status 'RETURNED'; their judgments are used")


def test_every_column_of_an_array_is_a_judge(recwarn: pytest.WarningsRecorder) -> None:
    """Also one whose labels no other judge gives; -1 may mean that there is no label, and a note says so."""
    assert texts_of(np.array([["a", "a", "z"]])) == [("0", "0", "a"), ("0", "1", "a"), ("0", "2", "z")]
    assert not notes_of(recwarn)
    read(np.array([[0, 1], [1, -1]]))
    assert notes_of(recwarn) == [
        "table: -1 is read as a label; missing=['-1'] leaves it out, if it means that there is no label"
    ]


@pytest.mark.parametrize("orient", ["records", "columns", "index", "values"])
def test_frames_as_json(orient: Any, tmp_path: Path) -> None:
    """Frames that pandas wrote as JSON are read, whatever its orientation and the names of columns."""
    frame = pd.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    path = tmp_path / "labels.json"
    frame.to_json(path, orient=orient)
    assert texts_of(path) == [("1", "a", "x"), ("1", "b", "y")]


def test_other_frames() -> None:
    """Batches of Arrow and series with an index of items and judges are read; columns with two levels are refused."""
    frame = pd.DataFrame({"item": [1, 1], "judge": ["a", "b"], "label": ["x", "y"]})
    expected = [("1", "a", "x"), ("1", "b", "y")]
    assert texts_of(pa.RecordBatch.from_pandas(frame)) == expected
    assert texts_of(frame.set_index(["item", "judge"])["label"]) == expected
    problem = "the columns have several levels: choose one of the first, as in frame['label']"
    assert problem in refusal(frame.pivot(index="item", columns="judge"))
