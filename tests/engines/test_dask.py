"""Dask on real workers: the answer of a fit in memory, whoever dies on the way."""

import logging
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from dask import config
from distributed import LocalCluster

import adjudge
from adjudge.data.blocks import open_blocks
from adjudge.data.make_blocks import Table, make_blocks
from adjudge.data.panel import panel_of
from adjudge.engines import dask
from adjudge.engines.dask import Dask
from adjudge.engines.fit_blocks import fit_blocks
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, MissingExtra, UsageError
from adjudge.inference.chains import Run
from adjudge.inference.options import Options
from tests.engines.conftest import same_answer
from tests.engines.worker_steps import absent, always_dying, counted, dying_once, largest, largest_bound, taken

SHORT = Run(2, 10, 20)
LONG = Options(tolerance=0.0, iterations=60, accelerate=False)  # dawid-skene takes all of its passes


@pytest.fixture(scope="module")
def engine():
    """Return an engine of two worker processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[2])])  # for workers to find our steps
        engine = Dask(workers=2)
        yield engine
        engine.close()


@pytest.fixture
def whole(engine):
    """Return the engine with both of its workers, whatever a test before has done to them."""
    engine._client.wait_for_workers(2, timeout=120)
    return engine


@pytest.fixture
def address(whole):
    """Return the address of the scheduler, as one gives it to --scheduler."""
    return whole._client.scheduler.address


class Through:
    """An engine whose steps are taken through another step."""

    def __init__(self, engine, through, *given):
        self.engine, self.through, self.given = engine, through, given

    def map_sum(self, blocks, step, params):
        """Take the step through the other."""
        return self.engine.map_sum(blocks, partial(self.through, *self.given, step), params)

    def close(self):
        """Leave the engine to its owner."""


def quiet(work, *given, **named):
    """Do something of which chains that are short, and gold that nobody judged, would be said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return work(*given, **named)


@pytest.mark.parametrize("told", [False, True], ids=["without-gold", "with-gold"])
@pytest.mark.parametrize("name", ["majority", "dawid-skene", "glad", "hybrid-confusion", "ordinal"])
def test_climbs_give_the_answer_of_memory(shelf, whole, tmp_path, name, told):
    """Labels exactly, numbers to 1e-9; workers write the labels."""
    gold, options = shelf.gold if told else None, Options(seed=3, inference="map")
    result = quiet(fit_blocks, shelf.blocks, name, gold, out=tmp_path, engine=whole, options=options)
    same_answer(result, quiet(adjudge.fit, shelf.judgments, name, gold, seed=3, inference="map"))


@pytest.mark.parametrize(
    ("name", "difficulty"), [("hybrid-confusion", False), ("hierarchical", False), ("hierarchical", True)]
)
def test_chains_draw_what_they_draw_in_memory(shelf, whole, tmp_path, name, difficulty):
    """Draws are the same to the last bit: truths are drawn by an item's place, and counts are whole numbers."""
    options = Options(seed=3, run=SHORT, prior=adjudge.Prior(difficulty=difficulty))
    result = quiet(fit_blocks, shelf.blocks, name, shelf.gold, out=tmp_path, engine=whole, options=options)
    fit = quiet(adjudge.fit, shelf.judgments, name, shelf.gold, seed=3, run=SHORT, difficulty=difficulty)
    same_answer(result, fit)
    np.testing.assert_array_equal(result.fit.draws.confusion, fit.draws.confusion)


def test_workers_know_the_kinds_and_families_of_judges(shelf, whole, tmp_path):
    """The consensus weighs machines of a family and people as one process does."""
    count = len(shelf.blocks.judges)
    columns = {"kind": ["person" if j % 5 == 0 else "machine" for j in range(count)]}
    panel = panel_of(shelf.blocks.judges.to_list(), columns | {"family": [f"f{j % 3}" for j in range(count)]})
    blocks = replace(shelf.blocks, panel=panel)
    spread = quiet(fit_blocks, blocks, "consensus", out=tmp_path / "dask", engine=whole)
    alone = quiet(fit_blocks, blocks, "consensus", out=tmp_path / "local")
    plain = quiet(fit_blocks, shelf.blocks, "consensus", out=tmp_path / "plain")
    np.testing.assert_allclose(spread.fit.params.confusion, alone.fit.params.confusion, rtol=1e-9)
    assert not np.allclose(plain.fit.params.confusion, alone.fit.params.confusion, rtol=1e-3)


def test_sums_do_not_depend_on_the_number_of_workers(shelf, whole, tmp_path):
    """The tree of sums follows from the blocks: one worker gives the same bits as two."""
    options = Options(iterations=10)
    two = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / "two", engine=whole, options=options).fit
    alone = Dask(workers=1)
    try:
        fitted = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / "one", engine=alone, options=options).fit
    finally:
        alone.close()
    assert fitted.evidence == two.evidence
    np.testing.assert_array_equal(fitted.params.confusion, two.params.confusion)


@pytest.fixture
def homely(whole):
    """Return the engine while no worker that is idle takes over what another has to do: how busy they are is chance."""
    cluster = whole._client.cluster
    stealing = cluster.scheduler.extensions["stealing"]
    cluster.sync(stealing.stop)
    yield whole
    cluster.sync(stealing.start)


def test_every_block_is_taken_once_and_stays_with_its_worker(shelf, homely, tmp_path, monkeypatch):
    """Also where blocks are many, and the tree of sums is deep."""
    monkeypatch.setattr(dask, "FAN_IN", 3)
    blocks = make_blocks(Table([shelf.file], {}, ordinal=True), tmp_path / "blocks", block=200)
    count = len(blocks.parts)
    assert count > 3**3
    took = homely.map_sum(blocks, counted, 0.5)
    pids = set(homely._client.run(os.getpid).values())
    assert set(took.truth[0]) == pids
    assert took.evidence == 0.5 * count
    np.testing.assert_array_equal(homely.map_sum(blocks, counted, 0.5).truth, took.truth)


def test_large_params_go_out_without_a_word(shelf, whole):
    """Dask would say that a graph is large."""
    sent = np.zeros(3_000_000)
    result = whole.map_sum(shelf.blocks, largest, sent)
    assert result.evidence == sent.size * len(shelf.blocks.parts)


def test_steps_that_hold_much_go_out_like_params(shelf, whole):
    """What a step holds is sent once a pass, with the params."""
    bound = np.zeros(1_000_000)
    for _ in range(3):
        result = whole.map_sum(shelf.blocks, partial(largest_bound, bound), None)
        assert result.evidence == bound.size * len(shelf.blocks.parts)


def test_a_worker_killed_in_the_middle_of_a_pass(shelf, whole, tmp_path):
    """The run completes, and the answer is the same."""
    before = set(whole._client.run(os.getpid).values())
    hands = Through(whole, dying_once, tmp_path / "mark")
    result = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path, engine=hands)
    assert int((tmp_path / "mark").read_text()) > 7
    whole._client.wait_for_workers(2, timeout=120)
    assert set(whole._client.run(os.getpid).values()) != before
    same_answer(result, adjudge.fit(shelf.judgments, "dawid-skene"))


def test_a_worker_killed_between_passes_of_chains(shelf, whole, tmp_path):
    """Nothing that chains need lives in a worker."""

    def kill(passes, _):
        if passes in (10, 40):
            os.kill(next(iter(whole._client.run(os.getpid).values())), signal.SIGKILL)

    options = Options(run=SHORT)
    result = quiet(
        fit_blocks, shelf.blocks, "hybrid-confusion", out=tmp_path, engine=whole, options=options, progress=kill
    )
    same_answer(result, quiet(adjudge.fit, shelf.judgments, "hybrid-confusion", run=SHORT))


def test_workers_that_die_of_a_block_are_not_killed_for_ever(shelf, engine, monkeypatch):
    """After a few passes it is said what happened, and what to do."""
    monkeypatch.setattr(dask, "TRIES", 2)
    with config.set({"distributed.scheduler.allowed-failures": 0}):
        own = Dask(workers=1)
    try:
        with pytest.raises(AdjudgeError, match=r"^the local cluster: workers .* lost in 2 passes .* out of memory\. "):
            own.map_sum(shelf.blocks, partial(always_dying, counted), 0.0)
    finally:
        own.close()


DRIVER = """
import sys
from adjudge.engines.dask import Dask
from adjudge.engines.fit_blocks import fit_blocks
from adjudge.inference.options import Options

if __name__ == "__main__":
    blocks, out, scheduler, iterations = sys.argv[1:]
    engine = Dask(scheduler) if scheduler else Dask(workers=2)
    told = lambda passes, _: print(passes, flush=True)
    options = Options(tolerance=0.0, iterations=int(iterations), accelerate=False)
    result = fit_blocks(blocks, "dawid-skene", out=out, engine=engine, options=options, every=0, progress=told)
    print(result.fit.stopped)
    engine.close()
"""


def driver(shelf, out, scheduler, iterations, passes):
    """Start a fit in a process of its own, and return it when it has made some passes."""
    rows = [str(shelf.blocks.folder), str(out), scheduler, str(iterations)]
    script = out.with_suffix(".py")
    script.write_text(DRIVER)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    process = subprocess.Popen([sys.executable, script, *rows], **pipes)
    for line in process.stdout:
        if line.strip() == str(passes):
            return process
    raise AssertionError(process.stderr.read())


def test_a_driver_that_was_killed_goes_on_from_its_checkpoint(shelf, whole, address, tmp_path):
    """Asked the same again, and with the answer of a run that nobody killed."""
    process = driver(shelf, tmp_path / "fit", address, LONG.iterations, 10)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    calls = []
    again = fit_blocks(
        shelf.blocks,
        "dawid-skene",
        out=tmp_path / "fit",
        engine=whole,
        options=LONG,
        progress=lambda passes, _: calls.append(passes),
    )
    assert 9 <= calls[0] < LONG.iterations
    fit = adjudge.fit(shelf.judgments, "dawid-skene", tolerance=0.0, iterations=LONG.iterations, accelerate=False)
    same_answer(again, fit)


def test_interrupted_it_ends_with_what_it_has(shelf, tmp_path):
    """Ctrl-C reaches every process of a terminal; workers stay to write the labels, and nothing is left running."""
    process = driver(shelf, tmp_path / "fit", "", 100_000, 5)
    os.killpg(process.pid, signal.SIGINT)
    result, complaints = process.communicate(timeout=120)
    assert result.splitlines()[-1] == "interrupted"
    assert complaints == ""
    assert process.returncode == 0
    assert len(list((tmp_path / "fit" / "labels").glob("*.parquet"))) == len(shelf.blocks.parts)


def test_a_scheduler_by_its_address(shelf, address, tmp_path):
    """Its workers do the work, and stay when the engine is closed."""
    engine = Dask(address)
    try:
        result = fit_blocks(shelf.blocks, "majority", out=tmp_path, engine=engine)
    finally:
        engine.close()
    same_answer(result, adjudge.fit(shelf.judgments, "majority"))


@pytest.mark.parametrize("place", ["tcp://127.0.0.1:1", "nonsense", "foo://host:1"])
def test_a_scheduler_out_of_reach(place, monkeypatch):
    """It is said where, and how to start one."""
    monkeypatch.setattr(dask, "CONNECT_TIMEOUT", 0.3)
    with pytest.raises(AdjudgeError, match=rf"^{place}: no Dask scheduler answers there .* 'dask scheduler'"):
        Dask(place)


def test_a_scheduler_without_workers(monkeypatch):
    """It is not waited for ever."""
    monkeypatch.setattr(dask, "WORKER_TIMEOUT", 0.3)
    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as cluster,
        pytest.raises(AdjudgeError, match=r"no worker has connected in 0 seconds: start some with 'dask worker tcp:"),
    ):
        Dask(cluster.scheduler_address)


def test_a_worker_without_adjudge(shelf):
    """It is said which, and what to install."""
    without = "import sys; sys.modules['adjudge'] = None"
    options = {"n_workers": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL, "preload": [without]}
    with LocalCluster(**options) as cluster:
        engine = Dask(cluster.scheduler_address)
        try:
            with pytest.raises(
                AdjudgeError, match=r"^Dask worker tcp:\S+: it cannot import adjudge .*: install adjudge"
            ):
                engine.map_sum(shelf.blocks, counted, 0.0)
        finally:
            engine.close()


def test_a_scheduler_without_adjudge():
    """It reads tasks before it hands them out, so that it needs adjudge as well."""
    program = "import sys; sys.modules['adjudge'] = None; from distributed.cli.dask_scheduler import main; main()"
    options = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0"]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program, *options], **pipes) as process:
        try:
            position = next(line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
            with pytest.raises(
                AdjudgeError, match=rf"^{position}: it cannot import adjudge .*: install adjudge .* where it runs$"
            ):
                Dask(position)
        finally:
            process.terminate()
            process.communicate()


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (("0.0.1", 7), "it has adjudge 0.0.1, but this process has .*: install the same version"),
        ((adjudge.__version__, None), "it does not see .*: put the blocks into a folder that all workers share"),
        ((adjudge.__version__, 7), "it sees other blocks in .*: put them into a folder that all workers share"),
    ],
)
def test_workers_of_another_world(shelf, whole, monkeypatch, found, what):
    """Another adjudge, another file system: said before anything is counted."""
    monkeypatch.setattr(whole._client, "run", lambda *given, **named: {"tcp://far:1": found})
    monkeypatch.setattr(whole, "_checked", set())
    with pytest.raises(AdjudgeError, match=rf"^Dask worker tcp://far:1: {what}"):
        whole.map_sum(shelf.blocks, counted, 0.0)


def test_other_blocks_in_the_same_folder(shelf, address, tmp_path):
    """Workers that live on do not take the blocks that were there before for those that are there now."""
    for size in (3_000, 1_000):
        blocks = make_blocks(Table([shelf.file], {}, ordinal=True), tmp_path / "blocks", block=size)
        engine = Dask(address)
        try:
            assert engine.map_sum(blocks, counted, 1.0).truth.shape == (1, len(blocks.parts))
        finally:
            engine.close()
        for file in (tmp_path / "blocks").iterdir():
            file.unlink()


def test_blocks_by_a_relative_path(shelf, whole, monkeypatch):
    """Workers were started in another folder."""
    monkeypatch.chdir(shelf.blocks.folder.parent)
    blocks = open_blocks(Path(shelf.blocks.folder.name))
    assert whole.map_sum(blocks, counted, 1.0).evidence == len(blocks.parts)


def test_labels_by_a_relative_path(shelf, whole, tmp_path, monkeypatch):
    """Workers write them where the driver means."""
    monkeypatch.chdir(tmp_path)
    result = fit_blocks(shelf.blocks, "majority", out="fit", engine=whole)
    monkeypatch.chdir(shelf.blocks.folder)
    same_answer(result, adjudge.fit(shelf.judgments, "majority"))


def test_what_a_worker_cannot_read(shelf, whole):
    """The file is named, and that all workers must see it."""
    with pytest.raises(InputError, match=r"^/nowhere/state.npz: the Dask worker on .* \(No such file.*must see it"):
        whole.map_sum(shelf.blocks, absent, 0.0)


def test_what_is_wrong_with_a_block_is_said_as_in_memory(shelf, whole, tmp_path):
    """An error of ours comes back from a worker as it is."""
    blocks = make_blocks(Table([shelf.file], {}, ordinal=True), tmp_path / "blocks", block=3_000)
    file = tmp_path / "blocks" / "block-00000.bin"
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(InputError, match=r"block-00000.bin: is damaged"):
        whole.map_sum(blocks, taken, None)


def test_without_dask(monkeypatch):
    """The line to type."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"^Dask needs 'adjudge\[dask\]', .*: pip install 'adjudge\[dask\]'$"):
        Dask()


def test_numbers_of_workers_that_cannot_be():
    """A scheduler has its own, and nobody cannot work."""
    with pytest.raises(UsageError, match=r"^tcp://host:8786 has its own workers"):
        Dask("tcp://host:8786", workers=2)
    with pytest.raises(UsageError, match=r"^the number of workers is 0: give at least 1$"):
        Dask(workers=0)
