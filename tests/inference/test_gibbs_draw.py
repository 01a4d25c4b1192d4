"""Fits by sampling: reproducible, honest about convergence, exact where a posterior is known, ended by Ctrl-C."""

import os
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count, pairwise, permutations
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, kstest

import adjudge
from adjudge.data.panel import panel_of
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.inference import chains as watch
from adjudge.inference.chains import DOUBLINGS, Draws, Hooks, Run, State, sample
from adjudge.inference.convergence import mean_error
from adjudge.inference.gibbs import MOST_BYTES, aligned
from adjudge.inference.options import Options
from adjudge.inference.params import Prior
from adjudge.kernels.replicate import replicate_with_truth

SAMPLED = pytest.mark.parametrize("model", ["hybrid-confusion", "hierarchical"])
SHORT = Run(3, 20, 30)


def fitted(*given, quiet="(the chains|label switching)", **named):
    """Return a fit of chains that may be too short."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", quiet, AdjudgeWarning)
        return adjudge.fit(*given, **named)


def crowd(items=60, labels=3, seed=2):
    """Return a simulated crowd of eight judges."""
    return adjudge.simulate("dawid-skene", seed=seed, items=items, judges=8, labels=labels, per_item=5).judgments


def topical(topics=("s", "t", "u"), items=12):
    """Return judgments of three good judges on items in topics, a third of them relevant."""
    rows = [
        (f"{topic}{i}", topic, judge, int((i % 3 == 0) != ((i + j) % 11 == 0)))
        for topic in topics
        for i in range(items)
        for j, judge in enumerate("abc")
    ]
    return pl.DataFrame(rows, schema=["item", "topic", "judge", "label"], orient="row")


def read(frame):
    """Return judgments with topics."""
    return adjudge.read(frame, item="item", judge="judge", topic="topic", labels=[0, 1])


@SAMPLED
def test_the_seed_alone_decides(model):
    """One worker or two: the same draws of the same seed; others of another."""
    table = crowd()
    first, two = (fitted(table, model, run=SHORT, seed=4, workers=workers) for workers in (1, 2))
    other = fitted(table, model, run=SHORT, seed=5)
    for ours, theirs in zip(first.draws, two.draws, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(first.posterior, two.posterior)
    assert not np.array_equal(first.draws.confusion, other.draws.confusion)
    assert not np.array_equal(first.draws.confusion[0], first.draws.confusion[1])


# --- gold, where posteriors are known


ALL_GOLD = {f"i{i}": int(i < 7) for i in range(10)}


def all_gold(**prior):
    """Return draws of hybrid-confusion where every truth is known, and the labels of one judge."""
    rows = [(f"i{i}", judge, int((i < 7) != (i % 4 == 0))) for i in range(10) for judge in "ab"]
    frame = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    fit = adjudge.fit(
        adjudge.read(frame, item="item", judge="judge", labels=[0, 1]),
        "hybrid-confusion",
        ALL_GOLD,
        run=Run(2, 5, 2_000),
        prior=Prior(**prior),
        seed=8,
    )
    return fit.draws


@pytest.mark.parametrize(
    ("informs", "alpha", "a", "b"),
    [(True, 1.0, 8, 4), (False, 1.0, 1, 1), (True, 2.5, 9.5, 5.5), (False, 2.5, 2.5, 2.5)],
)
def test_gold_informs_prevalence_or_does_not(informs, alpha, a, b):
    """With seven of ten known to be relevant, prevalence is Beta(alpha + 7, alpha + 3), or stays Beta(alpha, alpha)."""
    draws = all_gold(prevalence=alpha, gold_informs=informs)
    assert kstest(draws.prevalence[..., 0, 1].ravel(), beta(a, b).cdf).pvalue > 1e-4


@pytest.mark.parametrize("informs", [True, False])
def test_gold_always_informs_matrices(informs):
    """Of seven relevant items the judges called five so: Beta(1 + 3 + 5, 1 + 2)."""
    draws = all_gold(gold_informs=informs)
    for judge in range(2):
        assert kstest(draws.confusion[..., judge, 1, 1].ravel(), beta(4 + 5, 1 + 2).cdf).pvalue > 1e-4


def test_gold_that_does_not_inform_leaves_the_topics_population_alone():
    """With every truth known and none counted, phi of topics is uniform, and log kappa log .1 + Exp(1.5)."""
    frame = topical()
    gold = {item: int(int(item[1:]) % 3 == 0) for item in frame["item"]}
    fit = fitted(read(frame), "hierarchical", gold, run=Run(4, 100, 3_000), prior=Prior(gold_informs=False))
    phi, log_kappa = fit.draws.phi[..., -1, 1], np.log(fit.draws.kappa[..., -1])
    for drawn, mean in ((phi, 1 / 2), (phi**2, 1 / 3), (log_kappa, np.log(0.1) + 2 / 3)):
        assert abs(drawn.mean() - mean) < 4.5 * mean_error(drawn)
    informed = fitted(read(frame), "hierarchical", gold, run=Run(2, 100, 500))
    assert informed.params.prevalence[:, 1] == pytest.approx(np.full(3, 1 / 3), abs=0.08)


# --- topics


def test_items_without_a_topic_are_one_more():
    """A gold item nobody judged has no topic: it is in one of its own, and named as such."""
    with pytest.warns(AdjudgeWarning, match="nobody judged gold item 'lost'"):
        fit = fitted(read(topical()), "hierarchical", {"lost": 1, "s0": 1}, run=SHORT)
    assert fit.draws.prevalence.shape[2:] == (4, 2)
    assert fit.prevalence["topic"].unique(maintain_order=True).to_list() == ["s", "t", "u", "(none)"]
    assert fit.posterior[-1].tolist() == [0, 1]


def test_hybrid_has_one_prevalence_for_all_topics():
    """Topics are the hierarchical model's matter."""
    assert fitted(read(topical()), "hybrid-confusion", run=SHORT).draws.prevalence.shape[2:] == (1, 2)


# --- prediction


def test_new_judges_and_new_topics_are_average_ones():
    """By Bayes' rule: a judge never seen has the population's matrix, a topic never seen its prevalence."""
    fit = fitted(read(topical()), "hierarchical", run=Run(2, 50, 100))
    new = pl.DataFrame(
        [("n1", "s", "a", 1), ("n1", "s", "new", 0), ("n2", "v", "b", 1), ("n2", "v", "new", 1), ("n3", "v", "new", 0)],
        schema=["item", "topic", "judge", "label"],
        orient="row",
    )
    result = adjudge.predict(fit, read(new))
    theta = dict(zip(fit.judge_names.to_list(), fit.params.confusion, strict=True)) | {"new": fit.params.population}
    pi = dict(zip(fit.topics.to_list(), fit.params.prevalence, strict=True)) | {"v": fit.params.unseen}
    for i, item in enumerate(result.items.to_list()):
        rows = new.filter(item=item)
        chance = np.prod([theta[j][:, label] for j, label in rows.select("judge", "label").iter_rows()], axis=0)
        chance = chance * pi[rows["topic"][0]]
        np.testing.assert_allclose(result.posterior[i], chance / chance.sum(), rtol=1e-12)
    phi = fit.draws.phi.mean(axis=(0, 1))
    np.testing.assert_allclose(fit.params.population, phi[:-1])
    np.testing.assert_allclose(fit.params.unseen, phi[-1])


def test_new_items_without_a_topic_are_of_an_average_topic():
    """Where the fit has no topic of items without, that is one never seen."""
    fit = fitted(read(topical()), "hierarchical", run=Run(2, 50, 100))
    new = pl.DataFrame({"item": ["n"], "judge": ["a"], "label": [1]})
    result = adjudge.predict(fit, adjudge.read(new, labels=[0, 1]))
    chance = fit.params.unseen * fit.params.confusion[fit.judge_names.to_list().index("a"), :, 1]
    np.testing.assert_allclose(result.posterior[0], chance / chance.sum(), rtol=1e-12)


def test_a_new_judge_of_hybrid_is_what_the_prior_expects():
    """The normalised rows of Lambda."""
    fit = fitted(crowd(), "hybrid-confusion", run=SHORT, prior=Prior(trust=5))
    np.testing.assert_allclose(fit.params.population, (np.ones((3, 3)) + 5 * np.eye(3)) / 8)


# --- label switching


def made(K, chains=3, populations=True, seed=0):
    """Return draws, made by hand, of judges who are right more often than not."""
    rng = np.random.default_rng(seed)
    D, J, T, I, P = 5, 4, 2, 6, K + 1 if populations else 0  # noqa: E741
    confusion = rng.dirichlet(np.ones(K), (chains, D, J, K)) * 0.4 + 0.6 * np.eye(K)
    return Draws(
        rng.dirichlet(np.ones(K), (chains, D, T)),
        confusion,
        rng.dirichlet(np.ones(K), (chains, D, P)),
        rng.random((chains, D, P)),
        rng.dirichlet(np.ones(K), (chains, I)),
        True,
        99,
    )


def switched(draws, chain, order):
    """Return draws in which truth k of a chain is called order[k]."""
    back, K = np.argsort(order), len(order)
    prevalence, confusion, phi, kappa, probability = (field.copy() for field in draws[:5])
    prevalence[chain], probability[chain] = prevalence[chain][..., back], probability[chain][..., back]
    confusion[chain] = confusion[chain][:, :, back]
    if kappa.size:
        kappa[chain][:, :K] = kappa[chain][:, back]
        phi[chain][:, :K] = phi[chain][:, back]
        phi[chain][:, K] = phi[chain][:, K][:, back]
    return draws._replace(prevalence=prevalence, confusion=confusion, phi=phi, kappa=kappa, probability=probability)


@pytest.mark.parametrize("populations", [True, False])
@pytest.mark.parametrize("order", [order for K in (2, 3, 4) for order in permutations(range(K))])
def test_switched_chains_get_their_names_back(order, populations):
    """All that is known of truths goes with their names: prevalence, matrices, populations, and probabilities."""
    draws = made(len(order), populations=populations)
    result, renamed = aligned(switched(draws, 1, np.array(order)), np.array([5, 0, 3, 1]))
    assert renamed == ([] if order == tuple(range(len(order))) else [1])
    for ours, theirs in zip(result, draws, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_busy_judges_say_what_truths_are_called():
    """One who said much outweighs three who said nothing and are wrong."""
    draws = made(2)
    wrong = draws.confusion.copy()
    wrong[:, :, 1:] = wrong[:, :, 1:, ::-1]
    assert aligned(draws._replace(confusion=wrong), np.array([100, 1, 1, 1]))[1] == []
    assert aligned(draws._replace(confusion=wrong), np.array([1, 100, 100, 100]))[1] == [0, 1, 2]


def test_aligning_changes_no_argument():
    """The draws that were given stay as they were."""
    draws = switched(made(3), 0, np.array([1, 2, 0]))
    before = [np.array(field) for field in draws]
    aligned(draws, np.ones(4, int))
    for ours, theirs in zip(draws, before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@SAMPLED
def test_a_switched_chain_is_renamed_with_a_warning(model, monkeypatch):
    """Forced to go on with labels exchanged, where judges are so good that no chain comes back by itself."""
    from adjudge.inference import gibbs as draw

    default = draw.settle

    def exchanged(*given):
        first, *rest = default(*given)
        phi = first.phi.copy()
        if phi.size:
            phi[:2] = phi[1::-1]
            phi[2] = phi[2, ::-1]
        mirror = State(first.prevalence[:, ::-1], first.confusion[:, ::-1], phi, first.kappa)
        return [mirror._replace(confusion=np.broadcast_to([[0.02, 0.98], [0.98, 0.02]], first.confusion.shape)), *rest]

    monkeypatch.setattr(draw, "settle", exchanged)
    table = crowd(400, labels=2)
    prior = Prior(trust=0) if model == "hybrid-confusion" else None
    with pytest.warns(AdjudgeWarning, match="label switching: the truths of chain 1 were renamed"):
        fit = fitted(table, model, run=Run(3, 200, 500), prior=prior, quiet="the chains")
    assert np.ptp(fit.draws.confusion.mean(axis=1), axis=0).max() < 0.1  # between chains
    assert np.ptp(fit.draws.probability, axis=0).max() < 0.25
    assert fit.accuracy.mean() > 0.5


def test_gold_gives_names_that_are_not_changed():
    """Judges who say the opposite of gold are adversaries, and stay so."""
    rows = [(f"i{i}", judge, i % 2) for i in range(40) for judge in "abc"]
    frame = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    gold = {f"i{i}": 1 - i % 2 for i in range(30)}
    table = adjudge.read(frame, item="item", judge="judge", labels=[0, 1])
    fit = fitted(table, "hierarchical", gold, run=Run(2, 50, 100))
    assert (fit.accuracy < 0.1).all()
    assert fit.labels["label"].to_list() == [1 - i % 2 for i in range(40)]


# --- convergence


@SAMPLED
def test_chains_that_are_too_short_are_said_to_be(model):
    """Loudly, with what to do."""
    with pytest.warns(AdjudgeWarning, match="the chains have not converged.*more draws, or let it run until_converged"):
        fit = adjudge.fit(crowd(), model, run=Run(2, 2, 20))
    assert not fit.converged
    assert fit.stopped.startswith("the chains have not converged: R-hat of ")


@SAMPLED
def test_chains_that_have_converged_are_not_warned_of(model):
    """A warning would be an error here."""
    fit = adjudge.fit(crowd(300, labels=2), model, run=Run(3, 500, 2_000))
    assert fit.converged
    assert fit.stopped.startswith("drew 3 x 2,000, R-hat of ")


@SAMPLED
def test_a_run_goes_on_until_it_has_converged(model):
    """Begun too short for 400 effective draws, it ends with them, and keeps as many draws as were asked for."""
    requested = Run(3, 5, 200, until_converged=True)
    fit = adjudge.fit(crowd(300, labels=2), model, run=requested, seed=1)
    assert fit.converged
    assert fit.draws.prevalence.shape[:2] == (3, 200)
    assert fit.passes > 3 * (5 + 200)


def walk(here, rng, probability):
    """Return the state after one step of noise; each counts a half."""
    if probability.size:
        probability += 0.5
    return here._replace(prevalence=rng.standard_normal((1, 2)))


START = State(np.zeros((1, 2)), np.zeros((1, 2, 2)), np.zeros((0, 2)), np.zeros(0))


def sampled(run, enough):
    """Return draws of two chains of noise."""
    with ThreadPoolExecutor(2) as pool:
        return sample(walk, [START] * 2, 3, run, 0, pool, Hooks(enough=enough))


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_what_was_drawn_becomes_warm_up(rounds):
    """Each round goes twice as far; as many draws are kept, of the last round alone."""
    requests = []

    def enough(draws):
        requests.append(draws.prevalence.shape)
        return len(requests) == rounds

    result = sampled(Run(2, 5, 10, until_converged=True), enough)
    assert requests == [(2, 10, 1, 2)] * rounds
    assert result.sweeps == 2 * (5 + 10 * (2**rounds - 1))
    np.testing.assert_allclose(result.probability, 0.5)
    complete = sampled(Run(2, 0, result.sweeps // 2), lambda draws: True).prevalence
    last = 2 ** (rounds - 1)
    np.testing.assert_array_equal(result.prevalence, complete[:, -10 * last :][:, last - 1 :: last])


def test_what_never_converges_ends():
    """After six doublings, with what there is."""
    result = sampled(Run(2, 5, 10, until_converged=True), lambda draws: False)
    assert result.complete
    assert result.sweeps == 2 * (5 + 10 * (2 ** (DOUBLINGS + 1) - 1))


def test_without_being_asked_no_chain_runs_on():
    """However badly it has converged."""
    assert sampled(Run(2, 5, 10), lambda draws: False).sweeps == 30


# --- what is refused


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"chains": 0}, "chains 0 is not a whole number of at least 1"),
        ({"warmup": -1}, "warmup -1 is not a whole number of at least 0"),
        ({"draws": 3}, "draws 3 is not a whole number of at least 4"),
        ({"draws": 10.0}, "draws 10.0 is not a whole number of at least 4"),
        ({"thin": 0}, "thin 0 is not a whole number of at least 1"),
    ],
)
def test_runs_that_cannot_be(run, message):
    """Name, value, and what is allowed."""
    with pytest.raises(UsageError) as caught:
        Run(**run)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"trust": -1.0}, "prior trust -1.0 is not a number of at least 0"),
        ({"trust": float("nan")}, "prior trust nan is not a number of at least 0"),
        ({"prevalence": 0.0}, "prior prevalence 0.0 is not a number above 0"),
        ({"shape": 0.0}, "prior shape 0.0 is not a number above 0"),
        ({"least": float("inf")}, "prior least inf is not a number above 0"),
        ({"decay": 1.0}, "prior decay 1.0 is not a number of at least 0 and below 1"),
        ({"families": True}, "prior families are effects on the difficulty of items: give difficulty too"),
        ({"rows": ((1, 0), (1, 1))}, "prior rows hold a pseudo-count that is not a number above 0"),
    ],
)
def test_priors_that_cannot_be(prior, message):
    """Name, value, and what is allowed."""
    with pytest.raises(UsageError) as caught:
        Prior(**prior)
    assert str(caught.value) == message


def test_pseudo_counts():
    """Ones and trust on the diagonal; decaying from it; or as given."""
    np.testing.assert_array_equal(Prior(trust=2).pseudo_counts(2), [[3, 1], [1, 3]])
    np.testing.assert_array_equal(Prior(trust=4, decay=0.5).pseudo_counts(3), [[5, 3, 2], [3, 5, 3], [2, 3, 5]])
    np.testing.assert_array_equal(Prior(rows=((1, 2), (3, 4))).pseudo_counts(2), [[1, 2], [3, 4]])
    with pytest.raises(UsageError, match="prior rows are not 3 rows of 3 pseudo-counts, but of 2, 2"):
        Prior(rows=((1, 2), (3, 4))).pseudo_counts(3)


def test_an_inference_that_is_none():
    """Name, value, and what is allowed."""
    with pytest.raises(UsageError, match="inference 'mcmc' is not one of 'gibbs', 'map'"):
        Options(inference="mcmc")


@pytest.mark.parametrize(
    ("model", "named", "message"),
    [
        ("dawid-skene", {"prior": Prior()}, "model 'dawid-skene' has no prior; .*'hybrid-confusion'"),
        (
            "dawid-skene",
            {"inference": "gibbs"},
            "'dawid-skene' has no inference 'gibbs'; the models .*'hybrid-confusion'",
        ),
        (
            "hierarchical",
            {"inference": "map"},
            "model 'hierarchical' has no inference 'map'; the models .*'dawid-skene'",
        ),
        (
            "hybrid-confusion",
            {"inference": "map", "prior": Prior(prevalence=0.5)},
            "below 1 have no mode: use inference 'gibbs'",
        ),
        ("hybrid-confusion", {"inference": "map", "prior": Prior(gold_informs=False)}, "use inference 'gibbs'"),
        ("hybrid-confusion", {"prior": Prior(rows=((1, 2), (3, 4)))}, "prior rows are not 3 rows of 3"),
    ],
)
def test_what_a_model_cannot_do_is_refused(model, named, message):
    """With what can."""
    with pytest.raises(UsageError, match=message):
        adjudge.fit(crowd(), model, **named)


def test_draws_that_would_not_fit_in_memory_are_refused():
    """Before it begins, and what is proposed instead fits and is as long a run."""
    table = crowd()
    with pytest.raises(UsageError, match=r"would need [\d.]+ GB: keep fewer of a longer run, such as") as caught:
        adjudge.fit(table, "hierarchical", run=Run(3, 10, 10_000_000))
    words = str(caught.value).replace(",", "").split()
    draws, thin = int(words[words.index("draws", 5) + 1]), int(words[words.index("thin") + 1])
    assert 3 * draws * 8 * (8 * 9 + 3) <= MOST_BYTES
    assert draws * thin >= 10_000_000


# --- priors that reach


@pytest.mark.parametrize("least", [0.1, 1.0, 10.0, 1_000.0])
def test_kappa_stays_where_the_prior_has_it(least):
    """At least its bound, and, with eight judges, not beyond all bounds: chains must begin where the prior allows."""
    fit = fitted(crowd(), "hierarchical", run=Run(2, 100, 200), prior=Prior(least=least), seed=1)
    assert (fit.draws.kappa >= least * (1 - 1e-12)).all()
    assert fit.draws.kappa.max() < 1e9 * least  # which Pareto passes three times in 10^14


# --- while it runs


def state(rng):
    """Return a state of noise."""
    return State(rng.dirichlet([1, 1], 1), np.zeros((1, 2, 2)), np.zeros((0, 2)), np.zeros(0))


def test_watch_says_nothing_of_r_hat_at_first_and_then_near_1(monkeypatch):
    """Of noise; of chains that differ, it is far from 1."""
    monkeypatch.setattr(watch, "EVERY", -1.0)
    messages = []
    watching, rng = watch.Watch(2, lambda sweeps, worst: messages.append((sweeps, worst))), np.random.default_rng(0)
    for sweep in range(400):
        for chain in range(2):
            watching(chain, sweep + 1, state(rng))
    assert [sweeps for sweeps, _ in messages[:4]] == [0, 1, 1, 2]
    assert np.isnan(messages[0][1])
    assert np.isnan(messages[70][1])
    assert messages[-1] == (400, pytest.approx(1, abs=0.03))
    apart = watch.Watch(2, lambda sweeps, worst: None)
    for sweep in range(100):
        for chain in range(2):
            current = state(rng)
            apart(chain, sweep + 1, current._replace(prevalence=current.prevalence + 5 * chain))
    assert apart.worst() > 1.5


def test_watch_of_what_never_moves(monkeypatch):
    """There is no R-hat, and no warning."""
    watching = watch.Watch(2, lambda sweeps, worst: None)
    for sweep in range(100):
        for chain in range(2):
            watching(chain, sweep + 1, START)
    assert np.isnan(watching.worst())


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_progress_is_heard_of_all_the_way(workers, monkeypatch):
    """Also where there are more chains than workers: who waits sees all of them go on from the beginning."""
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=count().__next__))  # a sweep is a second
    monkeypatch.setattr(watch, "EVERY", 30)
    messages = []

    def progress(sweeps, worst):
        messages.append((sweeps, worst))

    fitted(crowd(), "hierarchical", run=Run(3, 300, 700), workers=workers, progress=progress)
    sweeps, worst = np.array(messages).T
    assert (np.diff(sweeps) >= 0).all()
    assert sweeps[0] < 50
    assert sweeps[-1] > 900
    assert np.isfinite(worst[sweeps > 600]).all(), "more than half of all is drawn, and some chain has hardly begun"


ASKED = 4_000


def interrupted_fit(interrupt, workers, monkeypatch):
    """Return a fit that its progress interrupts, once, after some hundreds of sweeps."""
    monkeypatch.setattr(watch, "EVERY", 0.05)
    once = []

    def progress(sweeps, worst):
        if sweeps > 200 and not once:
            once.append(sweeps)
            interrupt()

    return fitted(crowd(), "hierarchical", run=Run(3, 5, ASKED), workers=workers, progress=progress)


def raise_interrupt():
    """Interrupt from within a chain's thread."""
    raise KeyboardInterrupt


def send_signal():
    """Interrupt as Ctrl-C does: the process, of which the main thread hears it."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("interrupt", [raise_interrupt, send_signal])
def test_ctrl_c_ends_a_fit_with_what_it_has(interrupt, workers, monkeypatch):
    """There are draws, fewer than asked for, and it is said; also where there are more chains than workers.

    Polars has a handler of its own for Ctrl-C, after which calls of the system are begun again: a thread that waits for
    another without a timeout does not hear it.
    """
    try:
        fit = interrupted_fit(interrupt, workers, monkeypatch)
    except KeyboardInterrupt:
        pytest.fail("nothing was kept: some chain had not begun")
    assert fit.stopped == "interrupted"
    assert not fit.converged
    assert 0 < fit.draws.prevalence.shape[1] < 0.7 * ASKED, "it ran on"
    assert not fit.draws.complete
    np.testing.assert_allclose(fit.posterior.sum(axis=1), 1)


def test_an_error_of_progress_ends_the_fit_at_once(monkeypatch):
    """The other chains stop, though they have thousands of sweeps to go."""
    monkeypatch.setattr(watch, "EVERY", 0.0)
    chains, words = [], []

    class Kept(watch.Watch):
        def __init__(self, *given):
            super().__init__(*given)
            chains.append(self.seen)

    def progress(sweeps, worst):
        words.append(sweeps)
        if len(words) == 1:
            raise ValueError("broken")

    monkeypatch.setattr("adjudge.inference.gibbs.Watch", Kept)
    with pytest.raises(ValueError, match="broken"):
        adjudge.fit(crowd(300), "hierarchical", run=Run(3, 5, 5_000), workers=3, progress=progress)
    assert max(map(len, chains[0])) < 1_000, "they ran on"


# --- difficulty of items


def uneven(seed=0):
    """Return judgments of items that differ in difficulty, and their truths."""
    rng = np.random.default_rng(seed)
    design = adjudge.simulate("dawid-skene", seed, items=150, judges=12, labels=2, per_item=8, accuracy=0.8)
    drawn = replicate_with_truth(design.judgments.block(), design.prevalence, design.confusion, rng, 1.2)
    return replace(design.judgments, label=drawn.block.label.astype(design.judgments.label.dtype)), drawn.truth


@SAMPLED
def test_difficulty_is_an_option_of_sampled_models(model, tmp_path):
    """The same as a field of the prior; a saved fit keeps it, and predicts with it."""
    judgments, truth = uneven()
    plain, hard, again = (
        fitted(judgments, model, run=Run(2, 200, 200), quiet=".*", **options)
        for options in ({}, {"difficulty": True}, {"prior": Prior(difficulty=True)})
    )
    np.testing.assert_array_equal(hard.posterior, again.posterior)
    assert hard.draws.spread.shape == (2, 200, 1)
    assert 0.4 < hard.draws.spread.mean() < 2
    assert not plain.draws.spread.size
    losses = [-np.log(fit.posterior[np.arange(truth.size), truth] + 1e-12).mean() for fit in (plain, hard)]
    assert losses[1] < losses[0]
    adjudge.save(hard, tmp_path / "fit")
    loaded = adjudge.load(tmp_path / "fit")
    np.testing.assert_array_equal(loaded.draws.spread, hard.draws.spread)
    assert "difficulty" in loaded.labels.columns
    assert "spread of difficulty" in loaded.diagnostics["parameter"].to_list()
    predicted = adjudge.predict(loaded, judgments)
    assert np.abs(predicted.posterior - hard.posterior).mean() < 0.05


def with_families(seed=0, shared=0.3):
    """Return judgments of four families of judges whose errors are correlated, and their truths."""
    rng = np.random.default_rng(seed)
    design = adjudge.simulate("dawid-skene", seed, items=200, judges=16, labels=2, per_item=16, accuracy=0.75)
    names = design.judgments.judges.to_list()
    panel = panel_of(names, {"family": [f"family {j % 4}" for j in range(16)]})
    block = replace(design.judgments, panel=panel).block()
    drawn = replicate_with_truth(block, design.prevalence, design.confusion, rng, 2.0, shared)
    label = drawn.block.label.astype(design.judgments.label.dtype)
    return replace(design.judgments, label=label, panel=panel), drawn.truth


@SAMPLED
def test_difficulty_uses_families(model, tmp_path):
    """Families have effects of their own; a saved fit keeps them and says so, predicts and is checked with them."""
    judgments, truth = with_families()
    alone, fit = (
        fitted(judgments, model, run=Run(2, 200, 200), quiet=".*", prior=Prior(difficulty=True, families=families))
        for families in (False, True)
    )
    assert (alone.draws.spread.shape, fit.draws.spread.shape) == ((2, 200, 1), (2, 200, 2))
    assert fit.draws.spread[..., 1].mean() < 0.75
    losses = [-np.log(each.posterior[np.arange(200), truth] + 1e-12).mean() for each in (alone, fit)]
    assert losses[1] < losses[0]
    adjudge.save(fit, tmp_path / "fit")
    loaded = adjudge.load(tmp_path / "fit")
    assert "share of families" in loaded.diagnostics["parameter"].to_list()
    shared = fit.draws.spread[..., 1].mean()
    words = (
        "the judges of a family find the same items hard (4 families of 16 judges): on an item, a family has the "
        f"difficulty that the item has for all with probability {shared:.2f}, and otherwise one of its own"
    )
    assert (loaded.family_words, alone.family_words) == (words, "")
    predicted = adjudge.predict(loaded, judgments)
    assert np.abs(predicted.posterior - fit.posterior).mean() < 0.05
    assert adjudge.predict(loaded, judgments.take(np.arange(0, 3_200, 16))).posterior.shape == (200, 2)
    checked = adjudge.check(fit, judgments)
    assert np.isfinite(checked.loo.elpd)


def test_effects_of_families_need_families():
    """Without a table of judges there is nothing to share."""
    judgments = replace(with_families()[0], panel=None)
    with pytest.raises(adjudge.UsageError) as error:
        adjudge.fit(judgments, "hierarchical", prior=Prior(difficulty=True, families=True))
    assert str(error.value) == (
        "effects of families need judges of which some share a family: give a table of judges (judges=)"
    )


def test_the_mode_does_not_use_families():
    """EM has the difficulty of items alone, with or without families."""
    judgments, _ = with_families()
    options = {"inference": "map", "prior": Prior(difficulty=True)}
    fits = [adjudge.fit(each, "hybrid-confusion", **options) for each in (judgments, replace(judgments, panel=None))]
    np.testing.assert_array_equal(fits[0].posterior, fits[1].posterior)
    assert fits[0].family_words == ""


def test_difficulty_by_em_never_lowers_the_evidence():
    """The mode of hybrid-confusion with difficulty, without acceleration; hard items are those with split votes."""
    judgments, _ = uneven(1)
    fit = adjudge.fit(judgments, "hybrid-confusion", inference="map", difficulty=True, accelerate=False)
    assert (np.diff(fit.evidence) > -1e-6).all()
    assert fit.params.skill[0, -1] > 0.3
    share = np.array([judgments.label[a:b].mean() for a, b in pairwise(judgments.start)])
    split = np.abs(share - 0.5)
    assert np.corrcoef(fit.labels["difficulty"].to_numpy(), split)[0, 1] < -0.5


def test_other_models_have_no_difficulty():
    """The message names those that have it."""
    message = (
        "model 'dawid-skene' has no option for the difficulty of items; the models that have it are "
        "'hybrid-confusion', 'hierarchical'"
    )
    with pytest.raises(UsageError, match=message):
        adjudge.fit(crowd(), "dawid-skene", difficulty=True)
