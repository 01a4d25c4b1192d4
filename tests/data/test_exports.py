"""Exports of annotation tools and platforms, and wide tables: each sample follows the documented format of its tool."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge.data.exports import EXPORTS
from adjudge.data.judgments import judgment_table
from adjudge.data.read import read

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
                    {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}, "id": "x"}
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
        "'ann', 'bob', 'cat' are read as judges of one question; choose a criterion with --label",
    ),
    "MLflow evaluation": (
        "evaluation",
        "eval_results_table.json",
        lambda: json.dumps(
            [
                {"id": item, **{f"{judge}/v1/score": label for judge, label in labels.items()}, "ann/v1/justification": ""}
                for item, labels in ANSWERS.items()
            ]
        ),
        "'ann', 'bob', 'cat' are read as judges of one question; choose a criterion with --label",
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
