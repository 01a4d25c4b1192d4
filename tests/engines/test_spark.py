"""Spark on a real cluster of two executors, each a process of its own, with a Python of its own."""

import datetime
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.blocks import block_name, open_blocks
from adjudge.data.scale import Scale
from adjudge.engines import spark, spark_frames
from adjudge.engines.fit_blocks import CHECKPOINT, FitOnDisk, fit_blocks
from adjudge.engines.spark import Spark, java_version, open_session, refuse_java, short_message
from adjudge.engines.steps import count_gold
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, MissingExtra, UsageError
from adjudge.inference.chains import Run
from adjudge.inference.options import Options
from tests.engines.conftest import crowd, same_answer

CLUSTER = "local-cluster[2,1,1024]"
SHORT = Run(chains=2, warmup=3, draws=6)
DRIVER = """
import sys
from adjudge.engines.fit_blocks import fit_blocks
from adjudge.engines.spark import Spark
from adjudge.inference.options import Options
engine = Spark("local[2]")
options = Options(tolerance=0.0, iterations=12, accelerate=False)
fit_blocks(sys.argv[1], "dawid-skene", out=sys.argv[2], engine=engine, options=options, every=0.0)
"""
NO_JAVA = """
from adjudge.engines.spark import Spark
from adjudge.errors import AdjudgeError
try:
    Spark("local[1]")
except AdjudgeError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def engine():
    """Return an engine on a cluster of two executors."""
    if (java_version() or 0) < 17:
        if os.environ.get("CI"):
            pytest.fail("needs Java 17 or newer (Debian's package default-jre-headless)")
        pytest.skip("needs Java 17 or newer (Debian's package default-jre-headless)")
    import pyspark

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # nothing here runs for long
        session, own = open_session(CLUSTER)
        assert own
        session.conf.set("spark.sql.shuffle.partitions", "2")
        session.conf.set("spark.sql.codegen.wholeStage", "false")
        created = Spark(session=session)
        yield created
        created.close()
        work = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
        session.stop()
        _end_java()
    shutil.rmtree(work, ignore_errors=True)


def _end_java():
    """End the Java process that PySpark would keep until this one ends."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


def _below(process):
    """Return all processes that a process has begun, the nearest first."""
    collected = []
    for path in Path("/proc").iterdir():
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1]) if path.name.isdigit() else None
        except OSError:  # it has just ended
            continue
        if parent == process:
            collected += [int(path.name), *_below(int(path.name))]
    return collected


def _executors():
    """Return the executors of this process's cluster, and of no other on the machine."""
    collected = []
    for process in _below(os.getpid()):
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            collected += [process] if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words else []
    return collected


def _quiet(work, *given, **named):
    """Do something of which short chains, and gold that nobody judged, would be said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return work(*given, **named)


def _frame(engine, table):
    """Return a table as a DataFrame in several partitions, its rows in another order."""
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    return engine.session.createDataFrame(shuffled.to_arrow()).repartition(3)


def _held(found, fit):
    """Hold what Spark found against a fit in memory, and what its DataFrame says against the files."""
    same_answer(FitOnDisk(found.folder, found.fit, found.items, found.label_counts), fit)
    table = found.labels
    assert [name for name in table.columns if name != "gold"] == list(fit.label_columns())
    assert table.count() == len(fit.items)


@pytest.mark.parametrize(
    ("model", "told", "options"),
    [
        ("majority", False, {}),
        ("dawid-skene", True, {"iterations": 8}),
        ("glad", False, {"iterations": 8}),
        ("ordinal", True, {"iterations": 8}),
        ("hybrid-confusion", True, {"inference": "map", "iterations": 8}),
        ("hybrid-confusion", True, {"run": SHORT, "seed": 3}),
        ("hierarchical", False, {"run": Run(1, 2, 4), "prior": adjudge.Prior(difficulty=True)}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_the_answer_is_that_of_memory(engine, shelf, tmp_path, model, told, options):
    """Labels exactly, numbers to 1e-9, and the same draws."""
    gold = shelf.gold if told else None
    result = _quiet(fit_blocks, shelf.blocks, model, gold, out=tmp_path, engine=engine, options=Options(**options))
    fit = _quiet(adjudge.fit, shelf.judgments, model, gold, **options)
    same_answer(result, fit)
    if fit.draws is not None:
        assert np.array_equal(result.fit.draws.prevalence, fit.draws.prevalence)


def test_folders_may_be_named_from_here(engine, shelf, tmp_path, monkeypatch):
    """Executors are elsewhere: they are told the whole path, of blocks, gold, labels and states of chains."""
    shutil.copytree(shelf.blocks.folder, tmp_path / "blocks")
    monkeypatch.chdir(tmp_path)
    inputs = {"out": "fit", "engine": engine, "options": Options(run=Run(1, 1, 4))}
    result = _quiet(fit_blocks, open_blocks("blocks"), "hybrid-confusion", shelf.gold, **inputs)
    same_answer(result, _quiet(adjudge.fit, shelf.judgments, "hybrid-confusion", shelf.gold, run=Run(1, 1, 4)))


def test_large_params_and_tallies_take_their_ways(engine, shelf, tmp_path, monkeypatch):
    """Params are broadcast, and tallies added up by a tree of executors, in the same order each time."""
    monkeypatch.setattr(spark, "SMALL", 0)
    monkeypatch.setattr(spark, "AT_DRIVER", 0)
    monkeypatch.setattr(spark, "FAN_IN", 2)
    assert len(shelf.blocks.parts) > 4, "three levels"
    options = Options(iterations=2)
    result = [fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / n, engine=engine, options=options) for n in "ab"]
    same_answer(result[0], adjudge.fit(shelf.judgments, "dawid-skene", iterations=2))
    assert result[0].fit.evidence == result[1].fit.evidence


def test_executors_that_are_killed_change_nothing(engine, shelf, tmp_path):
    """One in the middle of a pass, and later the Python of another: both are replaced, and the answer is the same."""
    options = {"accelerate": False, "tolerance": 0.0, "iterations": 14}
    while len(before := _executors()) < 2:  # a cluster that has just begun has one after the other
        time.sleep(0.05)
    doomed = []

    def kill(pid):
        os.kill(pid, signal.SIGKILL)
        doomed.append(pid)

    def watch(passes, _):
        if passes == 3:
            threading.Timer(0.05, kill, before[:1]).start()
        if passes == 9:
            threading.Timer(0.05, kill, _below(before[1])[-1:]).start()

    inputs = {"engine": engine, "options": Options(**options), "progress": watch}
    result = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path, **inputs)
    assert len(doomed) == 2
    same_answer(result, adjudge.fit(shelf.judgments, "dawid-skene", **options))
    assert before[0] not in _executors()


def test_a_driver_that_is_killed_goes_on_from_its_checkpoint(engine, shelf, tmp_path):
    """It is asked again, and does not start again."""
    words = [sys.executable, "-c", DRIVER, str(shelf.blocks.folder), str(tmp_path)]
    with open(tmp_path / "log", "wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as driver:
        stored, times = tmp_path / CHECKPOINT / "climb.npz", set()
        while len(times) < 4:
            assert driver.poll() is None, (tmp_path / "log").read_text()
            times |= {stored.stat().st_mtime_ns} if stored.exists() else set()
            time.sleep(0.01)
        driver.kill()
    assert not (tmp_path / "fit.json").exists()
    options = {"tolerance": 0.0, "iterations": 12, "accelerate": False}
    calls = []
    result = fit_blocks(
        shelf.blocks,
        "dawid-skene",
        out=tmp_path,
        engine=engine,
        options=Options(**options),
        progress=lambda n, _: calls.append(n),
    )
    assert 1 < calls[0] < result.fit.passes
    same_answer(result, adjudge.fit(shelf.judgments, "dawid-skene", **options))


def test_ctrl_c_ends_a_fit_and_not_the_session(engine, shelf, tmp_path):
    """What is there by then is written, and the engine works on."""

    def watch(passes, _):
        if passes == 3:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    options = Options(accelerate=False, tolerance=0.0, iterations=500)
    result = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path, engine=engine, options=options, progress=watch)
    assert result.fit.stopped == "interrupted"
    assert result.labels.collect().height == shelf.blocks.items


def test_ctrl_c_ends_chains_after_their_sweep(engine, shelf, tmp_path):
    """What was drawn by then counts."""
    began = []

    def watch(sweeps, _):
        if sweeps > 6 and not began:
            began.append(sweeps)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    inputs = {"engine": engine, "options": Options(run=Run(1, 2, 5_000)), "progress": watch}
    result = _quiet(fit_blocks, shelf.blocks, "hybrid-confusion", out=tmp_path, **inputs)
    assert result.fit.stopped == "interrupted"
    assert began[0] <= result.fit.passes < 5_000
    assert result.labels.collect().height == shelf.blocks.items


def test_a_damaged_block_is_refused_in_a_short_message(engine, shelf, tmp_path):
    """As in memory: by name, without a page of Java."""
    shutil.copytree(shelf.blocks.folder, tmp_path / "blocks")
    blocks = open_blocks(tmp_path / "blocks")
    file = tmp_path / "blocks" / block_name(1)
    file.write_bytes(b"?" + file.read_bytes()[1:])
    with pytest.raises(InputError, match=r"block-00001.bin: is damaged: [^\n]*$"):
        fit_blocks(blocks, "dawid-skene", out=tmp_path / "out", engine=engine)


def test_blocks_that_executors_do_not_see_are_named():
    """A folder of the driver's own disk is no folder of theirs."""
    step = partial(count_gold, 1)
    (number, refused), *_ = spark._run_task(("/nowhere", None), pickle.dumps((step, None)), [(0, range(1))])
    assert number == 0
    assert refused.message == "/nowhere: an executor does not see it; blocks need a folder that all executors share"
    layout = spark_frames._BlockLayout("/nowhere/aside", 1, 0, Scale(("a",)), False)
    report = spark_frames._write_block(layout, 0, pl.DataFrame({"item": ["a"]}))
    assert report.refusal == "/nowhere: an executor does not see it; blocks need a folder that all executors share"


def test_a_data_frame_gives_the_answer_of_memory(engine, shelf, tmp_path):
    """Rows in any order, with topics and weights; gold as a DataFrame; blocks that are there are taken as they are."""
    table, gold = crowd(3_000)
    table = table.with_columns(weight=pl.Series(np.arange(table.height) % 3 + 0.5)).sort("judge")
    reference = pl.DataFrame({"item": list(gold), "label": list(gold.values())})
    frame, inputs = _frame(engine, table), engine.session.createDataFrame(reference.to_arrow())
    result = _quiet(spark.fit, frame, "dawid-skene", inputs, out=tmp_path, block=700, ordinal=True, iterations=5)
    _held(result, _quiet(adjudge.fit, adjudge.read(table, ordinal=True), "dawid-skene", gold, iterations=5))
    blocks = open_blocks(tmp_path / "blocks")
    assert len(blocks.parts) == 5
    assert sum(len(blocks.names(number).unique()) for number in range(5)) == table["item"].n_unique()
    written = (tmp_path / "blocks" / "manifest.json").stat().st_mtime_ns
    spark.fit(frame, "majority", out=tmp_path, block=700, ordinal=True)
    assert (tmp_path / "blocks" / "manifest.json").stat().st_mtime_ns == written
    with pytest.raises(InputError, match="has blocks of another table, or of this one read with other options"):
        spark.fit(frame.limit(100), "majority", out=tmp_path, ordinal=True)


def test_a_folder_of_parquet_files_gives_the_answer_of_memory(engine, tmp_path):
    """Items that are numbers stay numbers; columns may be called anything."""
    table, _ = crowd(2_000, labels=2)
    table = table.drop("topic").sort("judge").with_columns(item=pl.col("item").str.slice(1).cast(int))
    table = table.rename({"item": "the `doc`", "judge": "who.was", "label": "said"})
    (tmp_path / "lake").mkdir()
    for n in range(3):
        table[n::3].write_parquet(tmp_path / "lake" / f"{n}.parquet")
    named = {"item": "the `doc`", "judge": "who.was", "label": "said"}
    fitted = spark.fit(
        tmp_path / "lake", "dawid-skene", out=tmp_path / "out", session=engine.session, block=500, iterations=5, **named
    )
    _held(fitted, adjudge.fit(adjudge.read(table, **named), "dawid-skene", iterations=5))
    assert dict(fitted.labels.dtypes)["item"] == "bigint"


@pytest.mark.parametrize(
    "items",
    [
        [1.0, 1.0, 2.0, 3.0],
        [1.0, 1.0, 2.5, 3.0],
        [1e30, 1e30, 2.0, 3.0],
        [Decimal("1.50"), Decimal("1.50"), Decimal("2.00"), Decimal("3.00")],
        [Decimal(10**30), Decimal(10**30), Decimal(10**30 + 1), Decimal(2)],
        [True, True, False, False],
        [datetime.date(2026, 1, 1), datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)],
    ],
    ids=["whole", "fractions", "huge", "decimals", "digits", "booleans", "dates"],
)
def test_items_are_called_as_in_memory(engine, tmp_path, items):
    """Whatever their type, and whichever block they are in."""
    table = pl.DataFrame({"item": items, "judge": [1, 2, 1, 2], "label": ["a", "a", "b", "a"]})
    frame = engine.session.createDataFrame(table.to_arrow())
    blocks = spark_frames.write_blocks(spark_frames.SparkTable(frame, {}), engine.session, tmp_path, block=2)
    names = pl.concat([blocks.names(number) for number in range(len(blocks.parts))])
    assert names.sort().equals(adjudge.read(table).items.sort())


def test_items_of_several_topics_are_distinguished(engine, tmp_path):
    """As everywhere: an item a topic, with a word about it."""
    rows = [("x", 1, 0, "s"), ("x", 2, 1, "t"), ("y", 1, 1, "s"), ("y", 2, 1, "s")]
    columns = ["item", "judge", "label", "topic"]
    with pytest.warns(AdjudgeWarning, match="an item is in several topics, so items are called topic_item"):
        fitted = spark.fit(engine.session.createDataFrame(rows, columns), "majority", out=tmp_path)
    assert sorted(row.item for row in fitted.labels.collect()) == ["s_x", "s_y", "t_x"]


@pytest.mark.parametrize(
    ("rows", "schema", "options", "what"),
    [
        ([("a", None, 1)], "item string, judge string, label int", {}, "the judge (column 'judge') is empty"),
        ([("", "j", 1)], "item string, judge string, label int", {}, "the item (column 'item') is empty"),
        ([("a", "j", 7)], "item string, judge string, label int", {"labels": [0, 1]}, "label 7 is not one of 0, 1"),
        ([("a", "j", 1, -2.0)], "item string, judge string, label int, weight double", {}, "weight '-2.0' is not a"),
        ([("a", "j", 1, "x")], "item string, judge string, label int, weight string", {}, "weight 'x' is not a"),
        ([("a", "j", 1, 0.0)], "item string, judge string, label int, weight double", {}, "the weights sum to 0"),
        ([("a", ["j"], 1)], "item string, judge array<string>, label int", {}, "column 'judge' holds lists"),
        ([], "item string, judge string, label int", {}, "holds no rows"),
        ([("a", "j", 1)], "item string, judge string, mark int", {}, "no column for the label"),
    ],
)
def test_bad_rows_are_refused_in_a_short_message(engine, tmp_path, rows, schema, options, what):
    """As in memory, and nothing is left behind that would pass for blocks."""
    frame = engine.session.createDataFrame(rows, schema)
    with pytest.raises(InputError) as refused:
        spark.fit(frame, "majority", out=tmp_path, **options)
    assert what in str(refused.value).replace("label '7' is not one of '0', '1'", "label 7 is not one of 0, 1")
    assert "\n" not in str(refused.value)
    assert not list((tmp_path / "blocks").glob("*")) if (tmp_path / "blocks").exists() else True


def test_what_is_no_table_is_refused(engine, tmp_path):
    """A path that is not there, a frame of another library, a folder that has other things."""
    with pytest.raises(InputError, match=r"^Spark: [^\n]*nowhere[^\n]*$"):
        spark.fit("/nowhere/at/all", out=tmp_path, session=engine.session)
    with pytest.raises(InputError, match="DataFrame is not a table of Spark: give a DataFrame, or the path"):
        spark.fit(pl.DataFrame({"item": [1]}), out=tmp_path, session=engine.session)
    frame = engine.session.createDataFrame([("a", "j", 1)], ["item", "judge", "label"])
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "mine").write_text("")
    with pytest.raises(InputError, match="is not empty, and is not a folder of blocks"):
        spark.fit(frame, out=tmp_path)


def test_one_process_is_at_one_cluster(engine):
    """A second master, or a session that only takes queries, is refused."""
    with pytest.raises(UsageError, match=r"already has a Spark session at 'local-cluster\[2,1,1024\]'"):
        Spark("local[7]")
    with pytest.raises(UsageError, match="is not a classic Spark session"):
        Spark(session=object())
    again = Spark(CLUSTER)
    again.close()
    assert engine.session.range(3).count() == 3, "a session that was there is not stopped"


def test_without_java_the_line_to_type_is_said(tmp_path):
    """Before PySpark is begun, which would trace or hang."""
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", NO_JAVA], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == (
        "Java is not installed. Spark needs Java 17 or newer: "
        "sudo apt-get install openjdk-17-jre-headless (or set JAVA_HOME)\n"
    )
    assert done.stderr == ""


@pytest.mark.parametrize(("told", "version"), [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.15", 17), ("25-ea", 25)])
def test_the_version_of_java(tmp_path, monkeypatch, told, version):
    """Is that of JAVA_HOME where it is set; one that is too old is refused."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{told}\" 2024-01-01' >&2\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() == version
    if version < 17:
        with pytest.raises(AdjudgeError, match=f"^this is Java {version}. Spark needs Java 17 or newer: sudo apt-get"):
            refuse_java(version)


def test_without_pyspark_the_line_to_type_is_said(monkeypatch):
    """As of every extra."""
    monkeypatch.setattr(spark, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"Spark needs 'adjudge\[spark\]', which is not installed: pip install 'adj"):
        Spark("local[1]")


def test_a_page_of_spark_becomes_a_short_message():
    """The line that matters."""
    page = "An error occurred while calling\norg.apache.X: Job\nTraceback (most recent call last):\n{}\n\tat java"
    lost = page.format("ModuleNotFoundError: No module named 'adjudge'")
    assert short_message(lost).startswith("the executors' Python has no adjudge: install adjudge there")
    raised = (
        "An error occurred while calling\norg.apache.X: Job\nTraceback (most recent call last):\nValueError: no\n\tat a"
    )
    assert short_message(raised) == "ValueError: no"
    assert short_message("An error occurred while calling o1.collect\n: java.io.IOException: full\n\tat a") == (
        "java.io.IOException: full"
    )
    assert short_message(
        "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\n\tat"
    ).startswith("the session has ended: its master does not answer")
    assert short_message("") == "an error without a message"
