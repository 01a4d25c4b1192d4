"""Fits of blocks on disk: the answer of a fit in memory, whatever the model; killed, they go on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import adjudge
from adjudge.data.make_blocks import Table, make_blocks
from adjudge.data.panel import panel_of
from adjudge.engines.engine import Threads, sum_blocks
from adjudge.engines.fit_blocks import BlockSweep, fit_blocks
from adjudge.engines.steps import write_block, write_mean_block
from adjudge.errors import AdjudgeWarning, InputError, UsageError
from adjudge.inference import chains
from adjudge.inference.chains import Run
from adjudge.inference.model import MODELS
from adjudge.inference.options import Options
from adjudge.kernels.block import Tally
from tests.engines.conftest import crowd, same_answer

SHORT = Run(2, 20, 60)


def quiet(work, *given, **named):
    """Do something of which chains that are short, and gold that nobody judged, would be said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return work(*given, **named)


@pytest.mark.parametrize("told", [False, True], ids=["without-gold", "with-gold"])
@pytest.mark.parametrize("name", [name for name in MODELS if not MODELS[name].labels.binary])
def test_blocks_give_the_answer_of_memory(shelf, tmp_path, name, told):
    """Labels exactly, numbers to 1e-9, of every model that takes three labels."""
    run = SHORT if MODELS[name].inferences[0] == "gibbs" else None
    gold = shelf.gold if told else None
    result = quiet(
        fit_blocks, shelf.blocks, name, gold, out=tmp_path, options=Options(run=run, seed=3, calibrate="none")
    )
    same_answer(result, quiet(adjudge.fit, shelf.judgments, name, gold, run=run, seed=3, calibrate="none"))


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].labels.binary or MODELS[name].sampler])
def test_blocks_of_two_labels_give_the_answer_of_memory(tmp_path, name):
    """Also of models for two labels, and of the sampler's own way with two."""
    table, gold = crowd(3_000, labels=2)
    table.write_csv(tmp_path / "labels.csv")
    blocks = make_blocks(Table([tmp_path / "labels.csv"], {}), tmp_path / "blocks", block=700)
    run = SHORT if MODELS[name].inferences[0] == "gibbs" else None
    result = quiet(fit_blocks, blocks, name, gold, out=tmp_path / "fit", options=Options(run=run))
    same_answer(result, quiet(adjudge.fit, blocks.read(), name, gold, run=run))


@pytest.mark.parametrize("name", ["dawid-skene", "single-confusion"])
def test_blocks_are_renamed_as_in_memory(tmp_path, name):
    """A fit whose truths EM has permuted has the same names, and says the same, in blocks and in memory."""
    seed = {"dawid-skene": 14, "single-confusion": 29}[name]
    adjudge.simulate("liu-wang", seed=seed, items=20, gold=0).table.write_csv(tmp_path / "labels.csv")
    blocks = make_blocks(Table([tmp_path / "labels.csv"], {}), tmp_path / "blocks", block=20)
    result = fit_blocks(blocks, name, out=tmp_path / "fit", options=Options(seed=seed))
    memory = adjudge.fit(blocks.read(), name, seed=seed)
    assert result.fit.stopped == memory.stopped
    assert "truths were renamed" in memory.stopped
    same_answer(result, memory)


def test_gold_of_items_that_are_in_several_topics(tmp_path):
    """It is found by topic and item, as in memory."""
    table, _ = crowd(2_000)
    table = table.with_columns(topic=pl.Series([f"t{n % 3}" for n in range(table.height)]))
    table.write_csv(tmp_path / "labels.csv")
    gold = table.unique(["topic", "item"], maintain_order=True)[::20].select("topic", "item", label=pl.lit(1))
    gold.write_csv(tmp_path / "gold.csv")
    blocks = quiet(make_blocks, Table([tmp_path / "labels.csv"], {}), tmp_path / "blocks", block=700)
    result = quiet(fit_blocks, blocks, "dawid-skene", gold=tmp_path / "gold.csv", out=tmp_path / "fit")
    same_answer(result, quiet(adjudge.fit, tmp_path / "labels.csv", "dawid-skene", gold=tmp_path / "gold.csv"))


def test_the_file_itself_gives_the_same_labels(shelf, tmp_path):
    """Whatever the order of its rows: ties are broken by name."""
    for name in ("majority", "dawid-skene", "ordinal"):
        result = fit_blocks(shelf.blocks, name, out=tmp_path / name, options=Options(seed=5))
        same_answer(result, adjudge.fit(adjudge.read(shelf.file, ordinal=True), name, seed=5))


def test_weights_count(shelf, tmp_path):
    """As in memory."""
    table = pl.read_parquet(shelf.file)
    table.with_columns(weight=pl.Series(np.arange(table.height) % 3 + 0.5)).write_parquet(tmp_path / "w.parquet")
    blocks = make_blocks(Table([tmp_path / "w.parquet"], {}), tmp_path / "blocks", block=1_500)
    same_answer(
        fit_blocks(blocks, "dawid-skene", out=tmp_path / "fit"), adjudge.fit(tmp_path / "w.parquet", "dawid-skene")
    )


def test_gold_that_is_not_to_inform(shelf, tmp_path):
    """Prevalence is not told by gold where the prior says so."""
    prior, run = adjudge.Prior(gold_informs=False), Run(2, 10, 30)
    options = Options(run=run, prior=prior)
    result = quiet(fit_blocks, shelf.blocks, "hierarchical", shelf.gold, out=tmp_path, options=options)
    same_answer(result, quiet(adjudge.fit, shelf.judgments, "hierarchical", shelf.gold, run=run, prior=prior))
    judges = pl.read_csv(tmp_path / "judges.csv")
    assert (judges["p_right"] > 0.2).all()
    assert (judges["bits"] > 0).all()


DIFFICULT = adjudge.Prior(difficulty=True)


@pytest.mark.parametrize("families", [False, True], ids=["items", "families"])
@pytest.mark.parametrize("model", ["hybrid-confusion", "hierarchical"])
def test_difficulty_of_items_over_blocks(shelf, tmp_path, model, families):
    """All draws are those of a fit in memory, to the last bit; probabilities and difficulties agree to 1e-9."""
    panel = panel_of(shelf.blocks.judges.to_list(), {"family": [f"f{j % 6}" for j in range(len(shelf.blocks.judges))]})
    blocks, judgments = replace(shelf.blocks, panel=panel), replace(shelf.judgments, panel=panel)
    options = {"run": Run(2, 20, 30), "prior": replace(DIFFICULT, families=families), "seed": 2}
    result = quiet(fit_blocks, blocks, model, shelf.gold, out=tmp_path, options=Options(**options))
    memory = quiet(adjudge.fit, judgments, model, shelf.gold, **options)
    same_answer(result, memory)
    for name in ("confusion", "prevalence", "spread", "phi", "kappa", "wrong"):
        np.testing.assert_array_equal(getattr(result.fit.draws, name), getattr(memory.draws, name))
    assert np.ptp(result.fit.draws.spread[..., 0]) > 0
    loaded = adjudge.load(tmp_path).labels.sort("item")
    assert np.abs(loaded["difficulty"] - memory.labels.sort("item")["difficulty"]).max() < 1e-9


def test_chains_with_difficulty_go_on_to_the_same_bits(shelf, tmp_path, monkeypatch):
    """A run that ends in the middle continues from its checkpoint, and its spread and labels are those of one run."""

    class EndedError(BaseException):
        pass

    def progress(sweeps, _):
        if sweeps >= 14:
            raise EndedError

    monkeypatch.setattr(chains, "EVERY", 0.0)
    options = Options(run=Run(1, 10, 20), prior=DIFFICULT)
    inputs = {"options": options, "every": 0.0}
    with pytest.raises(EndedError):
        fit_blocks(shelf.blocks, "hierarchical", out=tmp_path / "out", progress=progress, **inputs)
    resumed = quiet(fit_blocks, shelf.blocks, "hierarchical", out=tmp_path / "out", **inputs)
    peace = quiet(fit_blocks, shelf.blocks, "hierarchical", out=tmp_path / "peace", **inputs)
    np.testing.assert_array_equal(resumed.fit.draws.spread, peace.fit.draws.spread)
    assert resumed.labels.collect().equals(peace.labels.collect())


def test_effects_of_families_need_families_in_blocks(shelf, tmp_path):
    """As in memory, and before anything is drawn."""
    options = Options(prior=replace(DIFFICULT, families=True))
    with pytest.raises(UsageError) as error:
        fit_blocks(shelf.blocks, "hierarchical", out=tmp_path, options=options)
    assert str(error.value) == (
        "effects of families need judges of which some share a family: give a table of judges (judges=)"
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_threads_changes_nothing(shelf, tmp_path, workers):
    """Not even the last bit."""
    first, other = (
        fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / str(many), engine=Threads(many)) for many in (workers, 2)
    )
    assert (first.fit.params.confusion == other.fit.params.confusion).all()
    assert first.fit.evidence == other.fit.evidence


def test_a_fit_on_disk_is_a_saved_fit(shelf, tmp_path):
    """From which new items are judged, and whose judges can be shown."""
    fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path)
    saved, memory = adjudge.load(tmp_path), adjudge.fit(shelf.judgments, "dawid-skene")
    assert_frame_equal(saved.judges, memory.judges, rel_tol=1e-9)
    assert_frame_equal(saved.labels.sort("item"), memory.labels.sort("item"), abs_tol=1e-9)
    new = pl.DataFrame({"item": ["n1", "n1", "n2"], "judge": ["w1", "w2", "w3"], "label": [0, 1, 2]})
    assert_frame_equal(adjudge.predict(saved, new).labels, adjudge.predict(memory, new).labels, rel_tol=1e-9)


def test_a_fit_on_disk_with_gold_and_more_to_say_is_read_back(shelf, tmp_path):
    """Gold, topics, degrees of difficulty, and labels that tie and are told together."""
    result = quiet(fit_blocks, shelf.blocks, "glad", shelf.gold, out=tmp_path / "glad")
    saved, memory = adjudge.load(result.folder), quiet(adjudge.fit, shelf.judgments, "glad", shelf.gold)
    assert_frame_equal(saved.labels.sort("item"), memory.labels.sort("item"), abs_tol=1e-9)
    reference = dict(zip(memory.items, memory.gold.tolist(), strict=True))
    assert dict(zip(saved.items, saved.gold.tolist(), strict=True)) == reference
    fit_blocks(shelf.blocks, "majority", out=tmp_path / "vote", options=Options(ties="all"))
    vote = adjudge.fit(shelf.judgments, "majority", ties="all")
    assert_frame_equal(adjudge.load(tmp_path / "vote").labels.sort("item"), vote.labels.sort("item"), abs_tol=1e-9)


def test_what_blocks_cannot_do_is_refused(shelf, tmp_path):
    """Before anything is computed."""
    with pytest.raises(UsageError, match="fixed length"):
        fit_blocks(
            shelf.blocks, "hierarchical", out=tmp_path, options=Options(run=Run(2, 10, 300, until_converged=True))
        )
    with pytest.raises(UsageError, match="model 'kos' takes two labels, and there are 3"):
        fit_blocks(shelf.blocks, "kos", out=tmp_path)
    with pytest.raises(InputError, match="none of the 1 gold items was judged"):
        fit_blocks(shelf.blocks, gold={"strange": 1}, out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file: name a folder"):
        fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / "file")


@pytest.mark.parametrize("model", ["majority", "hybrid-confusion"])
def test_parts_of_an_earlier_fit_are_gone(shelf, tmp_path, model):
    """Only this fit is read back, whether by EM or sampled."""
    stale = tmp_path / "labels" / "part-00099.parquet"
    stale.parent.mkdir()
    stale.write_bytes(b"")
    run = Run(2, 5, 10) if model == "hybrid-confusion" else None
    result = quiet(fit_blocks, shelf.blocks, model, out=tmp_path, options=Options(run=run))
    assert result.labels.collect().height == shelf.blocks.items


def test_ctrl_c_before_all_chains_begin_keeps_what_is_drawn(shelf, tmp_path, monkeypatch):
    """Of three chains, the first alone has drawn anything."""
    default, drawn = BlockSweep.__call__, []

    def impatient(self, prevalence, confusion, rng, probability, *rest):
        drawn.append(self.chain)
        if len(drawn) > 40:
            raise KeyboardInterrupt
        return default(self, prevalence, confusion, rng, probability, *rest)

    monkeypatch.setattr(BlockSweep, "__call__", impatient)
    options = Options(run=Run(3, 10, 100))
    result = quiet(fit_blocks, shelf.blocks, "hybrid-confusion", out=tmp_path, options=options)
    assert result.fit.draws.prevalence.shape[0] == 1
    assert result.fit.stopped == "interrupted"
    posterior = result.labels.collect().select("p_0", "p_1", "p_2").to_numpy()
    assert np.abs(posterior.sum(axis=1) - 1).max() < 1e-9


PROGRAM = """
import sys, time
from adjudge.engines.fit_blocks import fit_blocks
from adjudge.inference import chains as watch
from adjudge.inference.chains import Run
from adjudge.inference.options import Options
folder, out, model, log, most = sys.argv[1:]
options = Options(tolerance=0, iterations=40) if model == "dawid-skene" else Options(run=Run(2, 50, 250))
told = []
if int(most):
    watch.EVERY = 0.0
def progress(passes, evidence):
    told.append(passes)
    with open(log, "a") as file:
        print(passes, file=file)
    while len(told) == int(most):  # whoever is to kill it may be slow
        time.sleep(1)
fit_blocks(folder, model, out=out, options=options, every=0.0, progress=progress)
"""


def passes_of(log):
    """Return the passes that were told so far."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def kept(folder):
    """Return how many passes a checkpoint has behind it."""
    climb, chain = folder / "climb.npz", folder / "chain-0.npz"
    about = json.loads(str(np.load(climb if climb.exists() else chain)["about"]))
    return about["passes"] if "passes" in about else about["counts"][0]


@pytest.mark.parametrize("last", [3, 12, 21, 22, 23, 30])
def test_wherever_a_climb_ends_it_goes_on_to_the_same_bits(shelf, tmp_path, last):
    """Also during acceleration: parameters that were read back have the same memory order as the others."""

    class EndedError(BaseException):
        pass

    def progress(passes, _):
        if passes >= last:
            raise EndedError

    options = Options(tolerance=0, iterations=40)
    with pytest.raises(EndedError):
        fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / "out", options=options, every=0.0, progress=progress)
    resumed = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / "out", options=options, every=0.0).fit
    peace = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / "peace", options=options).fit
    assert (resumed.params.confusion == peace.params.confusion).all()
    assert resumed.evidence == peace.evidence


@pytest.mark.parametrize("model", ["dawid-skene", "hybrid-confusion"])
@pytest.mark.filterwarnings("ignore::adjudge.errors.AdjudgeWarning")
def test_a_run_that_is_killed_goes_on_to_the_same_answer(shelf, tmp_path, model):
    """SIGKILL in the middle, twice: what was done is not done again, and the answer is that of a run in peace."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(shelf.blocks.folder), str(tmp_path / "out"), model]
    done = []
    for number in range(2):
        log = tmp_path / f"log{number}"
        process = subprocess.Popen([*command, str(log), "15"])
        while len(passes_of(log)) < 10:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done.append(kept(tmp_path / "out" / "checkpoint"))
    assert 0 < done[0] < done[1]
    subprocess.run([*command, str(tmp_path / "log2"), "0"], check=True)
    options = {"tolerance": 0, "iterations": 40} if model == "dawid-skene" else {"run": Run(2, 50, 250)}
    chosen = Options(**options)
    peace = fit_blocks(shelf.blocks, model, out=tmp_path / "peace", options=chosen)
    resumed = adjudge.load(tmp_path / "out")
    assert (resumed.params.confusion == peace.fit.params.confusion).all()
    assert resumed.passes == peace.fit.passes
    parts = [pl.read_parquet(f"{tmp_path}/{position}/labels/*.parquet") for position in ("out", "peace")]
    assert parts[0].equals(parts[1])
    assert not (tmp_path / "out" / "checkpoint").exists()


def test_ctrl_c_keeps_what_is_found_and_goes_on(shelf, tmp_path):
    """The same asked again ends where it would have ended."""

    def impatient(passes, evidence):
        if passes == 6:
            raise KeyboardInterrupt

    options = Options(tolerance=0, iterations=30)
    stopped = fit_blocks(
        shelf.blocks, "dawid-skene", out=tmp_path / "a", options=options, every=0.0, progress=impatient
    )
    assert stopped.fit.stopped == "interrupted"
    assert stopped.labels.collect().height == shelf.blocks.items
    calls = []
    complete = fit_blocks(
        shelf.blocks,
        "dawid-skene",
        out=tmp_path / "a",
        options=options,
        progress=lambda passes, evidence: calls.append(passes),
    )
    peace = fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path / "b", options=options)
    assert calls[0] > 3
    assert (complete.fit.params.confusion == peace.fit.params.confusion).all()
    assert complete.fit.evidence == peace.fit.evidence


def test_a_checkpoint_of_another_question_is_not_taken(shelf, tmp_path):
    """Another model, or another option, starts again."""

    def impatient(passes, evidence):
        if passes == 4:
            raise KeyboardInterrupt

    fit_blocks(shelf.blocks, "dawid-skene", out=tmp_path, options=Options(seed=1), every=0.0, progress=impatient)
    calls = []
    fit_blocks(shelf.blocks, "one-coin", out=tmp_path, progress=lambda passes, evidence: calls.append(passes))
    assert calls[0] == 1


def test_a_fit_is_not_written_over_its_blocks(shelf, tmp_path):
    """Both have a file of judges."""
    with pytest.raises(UsageError, match="is the folder of the blocks"):
        fit_blocks(shelf.blocks, "dawid-skene", out=shelf.blocks.folder)


class Stopped(Threads):
    """An engine that is stopped when it has written what it says of one block."""

    def _run_step(self, blocks, number, step, params):
        if getattr(step, "func", None) in (write_block, write_mean_block) and number == 1:
            raise KeyboardInterrupt
        return super()._run_step(blocks, number, step, params)


@pytest.mark.parametrize("model", ["majority", "dawid-skene", "hybrid-confusion"])
def test_items_of_two_fits_are_no_saved_fit(shelf, tmp_path, model):
    """A run that is stopped while it writes over an earlier fit leaves none, and the same asked again makes one."""
    options = Options(run=SHORT if model == "hybrid-confusion" else None)
    quiet(fit_blocks, shelf.blocks, "one-coin", out=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        quiet(fit_blocks, shelf.blocks, model, out=tmp_path, options=options, engine=Stopped(1))
    with pytest.raises(InputError):
        adjudge.load(tmp_path)
    quiet(fit_blocks, shelf.blocks, model, out=tmp_path, options=options)
    assert adjudge.load(tmp_path).model == model


def counted(blocks, number, params):
    """Count the judgments of a block."""
    return Tally(np.full((1, 1), float(blocks.parts[number].judgments)), np.zeros((1, 1, 1)), 0.0)


def test_a_worker_that_lives_on_sees_blocks_that_were_made_anew(tmp_path):
    """In the same folder, of other files."""
    for many in (500, 800):
        crowd(many)[0].write_csv(tmp_path / f"{many}.csv")
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        blocks = make_blocks(Table([tmp_path / f"{many}.csv"], {}), tmp_path / "b")
        assert sum_blocks(blocks.address, range(1), counted, None).truth[0, 0] == len(blocks)


def test_nothing_is_left_of_a_fit_in_memory(tmp_path, monkeypatch):
    """In the folder of which one of blocks took possession: labels.csv would be taken for what it says."""
    monkeypatch.chdir(tmp_path)
    crowd(600)[0].write_csv("t.csv")
    assert asked("t.csv", "--out", "fit").returncode == 0
    assert os.path.exists("fit/labels.csv")
    assert asked("t.csv", "--model", "majority", "--blocks", "b", "--out", "fit").returncode == 0
    assert sorted(os.listdir("fit")) == [
        "fit.json", "items.parquet", "judges.csv", "judges.parquet", "labels", "params.npz"
    ]  # fmt: skip
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "labels.csv").write_text("mine")
    assert asked("t.csv", "--model", "majority", "--blocks", "b", "--out", "other").returncode == 0
    assert (tmp_path / "other" / "labels.csv").read_text() == "mine"


def asked(*words):
    """Ask the command line."""
    return subprocess.run([sys.executable, "-m", "adjudge", "fit", *map(str, words)], capture_output=True, text=True)


def test_gold_is_read_as_the_command_says(tmp_path):
    """In the format that is named, and by the columns that are named."""
    table, _ = crowd(600)
    table.rename({"item": "page"}).write_csv(tmp_path / "t.csv")
    item = table["item"][0]
    (tmp_path / "gold.txt").write_text(f"page\tlabel\tx\n{item}\t1\t1\n")
    inputs = (tmp_path / "t.csv", "--item", "page", "--gold", tmp_path / "gold.txt", "--gold-format", "tsv")
    result = asked(*inputs, "--blocks", tmp_path / "b", "--out", tmp_path / "fit")
    assert result.returncode == 0, result.stderr
    labels = pl.read_parquet(f"{tmp_path}/fit/labels/*.parquet")
    assert labels.filter(pl.col("gold").is_not_null())["item"].to_list() == [item]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--calibrate", "judgments"), "calibration by judgments needs all judgments in memory"),
        (("--out", "b"), "is the folder of the blocks"),
    ],
)
def test_what_cannot_be_is_refused_before_rows_are_read(tmp_path, monkeypatch, words, what):
    """That may take hours."""
    monkeypatch.chdir(tmp_path)
    crowd(600)[0].write_csv("t.csv")
    result = asked("t.csv", "--blocks", "b", "--out", "fit", *words)
    assert result.returncode == 2
    assert what in result.stderr
    assert not os.path.exists("b")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="resident size is read from /proc")
def test_resident_size_does_not_grow_with_the_judgments(tmp_path):
    """Eight times the judgments in blocks of the same size take about the same memory."""
    program = """
import sys
from adjudge.engines.fit_blocks import fit_blocks
from adjudge.inference.options import Options
fit_blocks(sys.argv[1], "dawid-skene", out=sys.argv[2], options=Options(iterations=4))
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
    sizes = []
    for many in (500_000, 4_000_000):
        rng, folder = np.random.default_rng(0), tmp_path / str(many)
        table = {"item": rng.integers(0, many // 5, many), "judge": rng.integers(0, 50, many)}
        pl.DataFrame({**table, "label": rng.integers(0, 3, many)}).write_parquet(tmp_path / f"{many}.parquet")
        make_blocks(Table([tmp_path / f"{many}.parquet"], {}), folder, block=250_000)
        command = [sys.executable, "-W", "ignore", "-c", program, str(folder), str(folder) + "-fit"]
        sizes.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024)
    assert sizes[1] - sizes[0] < 40  # MiB; the judgments themselves are 25 MiB more, and their posteriors 19


def test_a_prior_that_decays_needs_ordered_labels(tmp_path):
    """Labels without an order are refused on disk as in memory."""
    rows = pl.DataFrame({"item": [*"aabb"], "judge": [*"uvuv"], "label": ["no", "yes", "yes", "yes"]})
    rows.write_csv(tmp_path / "labels.csv")
    blocks = make_blocks(Table([tmp_path / "labels.csv"], {}), tmp_path / "blocks")
    message = "prior decay needs ordered labels: give their order with labels= and ordinal=True"
    options = Options(prior=adjudge.Prior(decay=0.5), inference="map")
    with pytest.raises(UsageError, match=message):
        fit_blocks(blocks, "hybrid-confusion", out=tmp_path / "fit", options=options)
    with pytest.raises(UsageError, match=message):
        adjudge.fit(rows, "hybrid-confusion", prior=adjudge.Prior(decay=0.5), inference="map")
