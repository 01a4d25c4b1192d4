"""Golden answers: what the public functions and commands answered when ``golden.json`` was written.

``test_golden.py`` compares the answers of today with that file. After a change that is meant to give other answers,
write the file again, and read its diff before it is committed (a line is one answer):

    python -m tests.conformance.golden --write

If a change is only meant to move, rename or speed up code, a difference is a fault of that change. The answers are
computed from the data set that ships with the package, from simulated crowds, and from a campaign that is written here.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import itertools
import json
import math
import random
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

import adjudge
from adjudge.cli import main

FILE = Path(__file__).with_name("golden.json")
DIGITS = 13  # decimals of probabilities in the file, so that rounding stays below the tolerance
RUN = adjudge.Run(chains=2, warmup=20, draws=20)
NOW = 2_000_000_000.0  # the time at which the campaign takes place
PREFERENCES = """judge,topic,left,right,winner
ann,t,a,b,left
ann,t,b,c,left
ann,t,a,c,left
bob,t,a,b,tie
bob,t,c,b,right
cid,t,c,a,left
"""
CROWDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "anesthesia": lambda: (adjudge.dataset("anesthesia"), None),
    "two labels and gold": lambda: _simulated("dawid-skene", 4, items=24, judges=5, labels=2, per_item=4, gold=5),
    "three ordered labels": lambda: _simulated("ordinal", 5, items=20, judges=5, labels=3, per_item=4, gold=0),
    "topics": lambda: _simulated("carpenter", 1, topics=3, items=24, judges=5, judgments=100, spammers=0.2, gold=5),
}


def _simulated(design: str, seed: int, **sizes: float) -> tuple[Any, Any]:
    """Return the judgments of a simulated crowd, and its gold."""
    crowd = adjudge.simulate(design, seed, **sizes)
    return crowd.judgments, crowd.gold if sizes["gold"] else None


def model_answers() -> Iterator[tuple[str, Any]]:
    """Yield the fits of every registered model on every crowd."""
    for crowd, make in CROWDS.items():
        judgments, gold = make()
        for model in adjudge.MODELS:
            yield f"{crowd}: {model}", dict(fit_answers(judgments, gold, model))
        yield (
            f"{crowd}: hybrid-confusion by EM",
            dict(fit_answers(judgments, gold, "hybrid-confusion", inference="map")),
        )


def default_answers() -> Iterator[tuple[str, Any]]:
    """Yield fits that do not name a model."""
    for crowd, make in CROWDS.items():
        judgments, gold = make()
        for model in (None, "auto"):
            yield f"{crowd}: {model or 'default'}", dict(fit_answers(judgments, gold, model))


def fit_answers(judgments: Any, gold: Any, model: str | None, **options: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a fit, or the kind of error if the model refuses these judgments."""
    if model in ("hierarchical", "hybrid-confusion") and "inference" not in options:
        options["run"] = RUN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # short chains do not converge
        try:
            fit = adjudge.fit(judgments, model, gold, **options)
        except adjudge.AdjudgeError as error:
            yield "error", type(error).__name__
            return
    if model in (None, "auto"):
        yield "model", fit.model
    names = list(fit.scale.names)
    yield "labels", " ".join(names[k] for k in fit.label.tolist())
    yield "probabilities", rounded(fit.posterior[:, 1:])
    yield "confusion", rounded(fit.params.confusion[:, :, 1:])
    yield "prevalence", rounded(fit.params.prevalence[:, 1:])
    yield "accuracy", rounded(fit.accuracy)
    if fit.evidence:
        yield "evidence", fit.evidence[-1]
    yield "passes", fit.passes


def rounded(values: Any) -> list[Any]:
    """Return an array as nested lists of numbers with ``DIGITS`` decimals; whole numbers without any."""

    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(part) for part in value]
        number = round(value, DIGITS)
        return int(number) if math.isfinite(number) and number == int(number) else number

    return list(short(np.asarray(values, float).tolist()))


def command_answers() -> Iterator[tuple[str, Any]]:
    """Yield what commands print for programs: fits used again, judges, rankings, evaluation and reranking."""
    with in_new_folder():
        sizes = ("topics=3", "items=30", "judges=6", "judgments=130", "gold=5")
        run("simulate", "carpenter", "--seed", "3", "--out", "c", *(f"--size={size}" for size in sizes))
        lines = Path("c/labels.csv").read_text().splitlines(keepends=True)
        Path("first.csv").write_text("".join(lines[:100]))
        Path("new.csv").write_text("".join([lines[0], *lines[100:]]))
        fit = ("fit", "first.csv", "--model", "dawid-skene")
        run(*fit, "--out", "fit")
        yield "fit", run(*fit, "--format", "csv")
        yield "predict", run("predict", "fit", "new.csv", "--format", "csv")
        yield "update", run("update", "fit", "new.csv", "--out", "updated", "--format", "csv")
        yield "update --online", run("update", "fit", "new.csv", "--online", "--out", "online", "--format", "csv")
        yield "weights", run("weights", "first.csv", "--scheme", "LTC", "--format", "csv")
        yield "weights --fit", run("weights", "--fit", "fit", "--format", "csv")
        yield "agreement", numbers_of(run("agreement", "first.csv", "--draws", "50", "--format", "csv"))
        yield "judges", numbers_of(run("judges", "fit", "--format", "csv"))
        compare = ("compare", "first.csv", "--models", "majority,one-coin", "--folds", "3")
        yield "compare", numbers_of(run(*compare, "--format", "csv"))
        run("rank", "--example", "rankings.csv")
        Path("preferences.csv").write_text(PREFERENCES)
        for method, file in (("borda", "rankings"), ("plackett-luce", "rankings"), ("bradley-terry", "preferences")):
            yield f"rank --method {method}", run("rank", f"{file}.csv", "--method", method, "--format", "csv")
        run("evaluate", "--example", "search")
        run("fit", "search/labels.csv", "--model", "dawid-skene", "--out", "search/fit")
        runs = ("search/bm25.run", "search/dense.run", "--draws", "50", "--budget", "4", "--format", "csv")
        for table in ("systems", "pairs", "documents"):
            yield f"evaluate: {table}", run("evaluate", "--fit", "search/fit", *runs, "--table", table)
        yield "score", run("score", *runs[:2], "search/truth.qrels", "--draws", "50", "--format", "csv")
        yield from _rerank_answers()


def _rerank_answers() -> Iterator[tuple[str, Any]]:
    """Yield the ranker that learns from a fit, its run of the first topics, and what it wants to be judged again."""
    run("rerank", "train", "--example", "ex")
    run("fit", "ex/labels.csv", "--model", "dawid-skene", "--out", "ex/fit")
    run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", "ranker", "--run", "svm.run")
    with np.load(next(Path("ranker").glob("*.npz"))) as arrays:
        yield "rerank train: weights", {name: rounded(arrays[name]) for name in sorted(arrays.files)}
    yield "rerank train: run", "".join(Path("svm.run").read_text().splitlines(keepends=True)[:40])
    run("rerank", "again", "ex/features.csv", "--fit", "ex/fit", "--budget", "5", "--out", "pool.csv")
    yield "rerank again", Path("pool.csv").read_text()


def studio_answers() -> Iterator[tuple[str, Any]]:
    """Yield the exports of a small campaign: judges who pass and fail, one who is excluded, and imported judgments."""
    from adjudge.studio.desk.decisions import change_standing
    from adjudge.studio.refresh_consensus import refresh
    from tests.studio.conftest import desk_studio, write_campaign

    with in_new_folder(), fixed_chance():
        desk = desk_studio(write_campaign(Path("trees")), NOW)
        lead = desk.person("lea", "lead")
        ann, bob, cid, dan = (desk.person(name) for name in ("ann", "bob", "cid", "dan"))
        for who, options in ((ann, {}), (bob, {"relevance": 0}), (ann, {}), (cid, {"right": False, "seconds": 3.0})):
            desk.work(who, **options)
        desk.work(dan)
        desk.do(change_standing, lead, dan, "excluded", "copies")
        desk.store.close()
        Path("more.csv").write_text("topic,document,judge,label\noak,oak-0,model-a,1\nelm,elm-1,model-a,0\n")
        run("campaign", "import", "trees", "more.csv")
        refresh("trees")
        for content in ("judgments", "qrels", "uncertainty", "task1", "task2"):
            yield f"export {content}", run("campaign", "export", "trees", "--what", content)
        yield "consensus", rounded(np.load("trees/consensus/belief.npy"))


@contextlib.contextmanager
def fixed_chance() -> Iterator[None]:
    """Fix the clock, and the random numbers that are secret in a real campaign."""
    tokens = (f"token{number}" for number in itertools.count())
    letters = random.Random(2)
    with contextlib.ExitStack() as stack:
        for owner, name, value in (
            (time, "time", lambda: NOW),
            (time, "clock_gettime", lambda clock: 1_000.0),
            (secrets, "SystemRandom", lambda: random.Random(1)),
            (secrets, "choice", letters.choice),
            (secrets, "token_urlsafe", lambda size=None: next(tokens)),
        ):
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


@contextlib.contextmanager
def in_new_folder() -> Iterator[None]:
    """Work in a folder that is deleted afterwards."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def run(*arguments: str) -> str:
    """Run ``adjudge`` with arguments in this process, and return what it printed; an error is an assertion."""
    out, errors = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
        main(list(arguments))
    expected = ("adjudge: warning:", "adjudge: do not believe these probabilities:")
    problems = [line for line in errors.getvalue().splitlines() if not line.startswith(expected)]
    assert not problems, f"adjudge {' '.join(arguments)}: {problems}"
    printed = out.buffer.getvalue()  # type: ignore[attr-defined]
    return str(printed.decode())


def numbers_of(text: str) -> str:
    """Return a CSV without measured times, and without sentences, whose wording is tested elsewhere."""
    rows = list(csv.reader(io.StringIO(text)))
    columns = [n for n, name in enumerate(rows[0]) if name not in ("sentence", "reasons", "note", "seconds")]
    return "".join(",".join(row[n] for n in columns) + "\n" for row in rows)


PARTS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "models": model_answers,
    "commands": command_answers,
    "studio": studio_answers,
    "defaults": default_answers,
}


def load() -> dict[str, dict[str, Any]]:
    """Return the golden answers of every part."""
    parts: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return parts


def write(parts: Mapping[str, Mapping[str, Any]], file: Path = FILE) -> None:
    """Write golden answers, one line per answer."""
    lines = []
    for part, answers in parts.items():
        rows = ",\n".join(f"{json.dumps(name)}:{_text(answer)}" for name, answer in answers.items())
        lines.append(f"{json.dumps(part)}:{{\n{rows}\n}}")
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _text(answer: Any) -> str:
    """Return an answer as JSON in one line; the lines of a table are a list."""
    if isinstance(answer, str) and "\n" in answer:
        answer = answer.splitlines()
    return json.dumps(answer, separators=(",", ":"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the golden answers again.")
    parser.add_argument("--write", action="store_true", required=True, help="overwrite golden.json")
    parser.add_argument("--only", choices=PARTS, action="append", help="write only this part; repeatable")
    chosen = parser.parse_args().only or list(PARTS)
    before = load() if FILE.exists() else {}
    write({part: dict(answers()) if part in chosen else before[part] for part, answers in PARTS.items()})
