"""Gibbs sampling of the confusion models: hybrid-confusion (paper 003) and the hierarchical model (paper 000).

A sweep draws every truth given prevalence and confusion, then these given the tally of the truths. In hybrid-confusion
the priors are fixed: theta[j, k] ~ Dirichlet(Lambda_k + counts), pi ~ Dirichlet(alpha + counts). In the hierarchical
model they are those of populations, phi and kappa, one a truth for judges and one for topics, and are drawn first, with
theta and pi integrated out: given theta and pi they would hardly move. There, between two draws that are kept, another
sweep mirrors theta and pi: with few judgments a judge, truths and theta hold each other, and a swing to the other side
gets a chain on. It costs a sweep, and is worth more in effective draws (``studies/benchmarks/bayes.py``).

``draw`` is the fit of such a model: chains run, their truths are aligned, and the draws are summarised.

Chains start apart (``diffuse``): at the vote, at judges and topics drawn without regard to the judgments, and at the
vote with the labels permuted. If they then disagree, the posterior has several modes, and one chain alone would not
have shown it. Chains whose evidence is clearly lower than that of the best are left out, and this is said (``modes``).

Label switching: the likelihood of a confusion model is the same when truths are renamed. After some sweeps, and again
after the last, the truths of a chain are renamed such that judges are right most often (the assignment problem, on the
average matrix of all judges), unless gold keeps the names.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.panel import Panel
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.inference.chains import NOWHERE, Draws, Hooks, Run, State, States, Step, Truths, Watch, sample
from adjudge.inference.components import difficulty_skill, most_likely
from adjudge.inference.convergence import ENOUGH, Convergence, convergence, r_hat
from adjudge.inference.em import EmResult, Progress
from adjudge.inference.model import Model
from adjudge.inference.options import Options
from adjudge.inference.params import Params, Prior, best_order
from adjudge.kernels.block import NO_FAMILIES, Block, Tally
from adjudge.kernels.conjugate import Pareto, Population, dirichlet_rows, draw_population, mirrored_rows, redraw
from adjudge.kernels.difficulty import (
    Populations,
    Swept,
    draw_populations,
    draw_rows,
    draw_spread_and_states,
    state_labels,
    state_prior,
    state_rows,
)
from adjudge.kernels.family_effects import StateSweep, by_family, family_posterior
from adjudge.kernels.sweep import ULP, Key, Sweep, new_key, pack, random_bits, unpack
from adjudge.kernels.truth import FLOOR, count, truth_posterior, vote_shares

MOST_BYTES = 4e9  # of all draws
FIRST_SPREADS = (0.5, 0.1, 1.5)  # of the difficulty of items, at which chains start
FIRST_SHARED = 0.7  # probability that a family shares the effect of an item, at which chains start
SETTLING = 100  # sweeps before truths are named, at most
CLOSE_DETAIL, ENOUGH_DETAIL = 1.05, 100  # good R-hat and effective sample size of matrices and items
DETAILS = 50  # judges, and items, by which convergence is judged
CERTAIN = 0.99  # probability of a truth from which an item is no longer looked at
APART = 0.05  # mean difference of probabilities of truths from which chains are in different modes
SEPARATE = 2.0  # R-hat of truths from which two chains do not meet
PER_CHAIN = ("prevalence", "confusion", "probability")
LOWER = 3.0  # log evidence by which a mode is lower, at least
LOOKS = 20  # draws of a chain by which its evidence is judged
FEW = 10  # fewer judges are hardly a population

Begin: TypeAlias = Callable[[Key], Tally]  # the tally of the truths that chains start with


def with_priors(over: Truths, rows: Floats, topics: Floats) -> Step:
    """Return a sweep under fixed priors: pseudo-counts of a judge's rows (K, K), and of prevalence (K)."""

    def step(state: State, rng: np.random.Generator, probability: Floats) -> State:
        tally, state = _swept(over, state, rng, probability)
        prevalence, confusion = dirichlet_rows(topics + tally.truth, rng), dirichlet_rows(rows + tally.label, rng)
        return state._replace(prevalence=prevalence, confusion=confusion)

    return step


def with_populations(over: Truths, prior: Pareto, counted: Floats | None = None) -> Step:
    """Return a sweep in which the populations of judges' rows and of topics are drawn too.

    ``counted`` (T, K) is taken off the tally of topics: gold that is not to inform prevalence.
    """

    def swept(state: State, rng: np.random.Generator, probability: Floats) -> tuple[Tally, State]:
        tally, state = _swept(over, state, rng, probability)
        return (tally if counted is None else tally._replace(truth=tally.truth - counted)), state

    def mirrored(state: State, rng: np.random.Generator) -> State:
        (tally, _), pseudo = swept(state, rng, NOWHERE), state.kappa[:, None] * state.phi  # (K + 1, K)
        prevalence = mirrored_rows(pseudo[-1] + tally.truth, state.prevalence, rng)
        return state._replace(
            prevalence=prevalence, confusion=mirrored_rows(pseudo[:-1] + tally.label, state.confusion, rng)
        )

    def step(state: State, rng: np.random.Generator, probability: Floats) -> State:
        if probability.size:  # only for draws that are kept: warm-up is long enough without
            state = mirrored(state, rng)
        tally, state = swept(state, rng, probability)
        return State(*redraw(tally, state.phi, state.kappa, prior, rng), state.truth)

    return step


def with_difficulty(
    over: Truths, rows: Floats | Pareto, topics: Floats | Pareto, counted: Floats | None = None
) -> Step:
    """Return a sweep in which the difficulty of items is drawn too (``kernels.difficulty``).

    If the judges have families, these have an effect of their own on every item (``kernels.family_effects``). ``rows``
    are the pseudo-counts of judges' rows (K, K) or the prior of the kappas of their populations, and ``topics`` those
    of prevalence (K). ``counted`` (T, K) is taken off the tally of topics.
    """
    states, K = StateSweep(over.block) if isinstance(over, Sweep) else over, over.labels
    assert isinstance(states, States)

    def step(state: State, rng: np.random.Generator, probability: Floats) -> State:
        truths = over.items if state.truth.size and probability.size else 0

        def sweep(spreads: list[Floats], key: Key) -> list[Swept]:
            return states.sweep_spreads(state.prevalence, state.confusion, spreads, key, probability, truths)

        effects, (counts, added, drawn) = draw_spread_and_states(sweep, state.spread, over.items, rng)
        probability += added
        spread, phi, kappa, wrong = float(effects[0]), state.phi, state.kappa, state.wrong
        if isinstance(rows, Pareto):
            current = Populations(state.confusion, phi[:K], kappa[:K], state.wrong)
            judges = draw_populations(counts.label, current, spread, rows, rng)
            confusion, wrong = judges.confusion, judges.wrong
            phi, kappa = np.vstack([judges.phi, phi[K:]]), np.r_[judges.kappa, kappa[K:]]
        else:
            confusion = draw_rows(counts.label, rows, state.confusion, spread, rng)
        truth = counts.truth if counted is None else counts.truth - counted
        if isinstance(topics, Pareto):
            population = draw_population(truth, Population(phi[K], float(kappa[K])), topics, rng)
            phi, kappa = np.vstack([phi[:K], population.phi]), np.r_[kappa[:K], population.kappa]
            prevalence = dirichlet_rows(population.kappa * population.phi + truth, rng)
        else:
            prevalence = dirichlet_rows(topics + truth, rng)
        bits_kept = pack(drawn, K) if drawn.size else state.truth
        return State(prevalence, confusion, phi, kappa, bits_kept, effects, wrong)

    return step


def with_effects(start: State, spread: float, families: bool = False) -> State:
    """Return a start with a spread of the difficulty of items and, with families, how often these share it.

    If there are populations and several wrong labels, the shares of these begin as concentrated as whole rows.
    """
    K, effects = start.confusion.shape[2], np.array([spread, FIRST_SHARED] if families else [spread])
    return start._replace(spread=effects, wrong=start.kappa[: K if K > 2 else 0])


def _swept(over: Truths, state: State, rng: np.random.Generator, probability: Floats) -> tuple[Tally, State]:
    """Return the tally of drawn truths, and the state, with these truths if they are kept."""
    drawn = np.empty(over.items if state.truth.size and probability.size else 0, np.int32)
    tally = over(state.prevalence, state.confusion, rng, probability, drawn)
    return tally, state._replace(truth=pack(drawn, over.labels)) if drawn.size else state


def voted_by_chance(block: Block, key: Key, first: int = 0, topics: int = 1) -> Tally:
    """Return the tally of the majority labels of items from number ``first`` on; ties are broken at random."""
    best = most_likely(vote_shares(block))
    which = np.floor(random_bits(key, first, block.topic.size) * ULP * best.sum(axis=1))  # of the tied labels
    truth = (best.cumsum(axis=1) > which[:, None]).argmax(axis=1)
    return count(block, np.eye(block.labels)[truth], topics)


def diffuse(begin: Begin, seed: int, chains: int, least: float = 0.0, permute: bool = False) -> Sequence[State]:
    """Return starts that are far apart: at different truths, with very different populations.

    ``begin`` gives the tally of truths by the vote, ties at random, by a key (``voted_by_chance``). The first chain
    starts there, the second at judges and topics drawn from their populations alone, the third at the vote with the
    labels permuted (unless ``permute`` is False), and so on. The average judge is anywhere between chance and
    certainty. Prevalence and confusion are drawn given all this. No kappa is below the ``least`` of its prior.
    """
    starts = []
    for c, child in enumerate(np.random.SeedSequence(seed, spawn_key=(1,)).spawn(chains)):
        rng = np.random.default_rng(child)
        tally = begin(new_key(rng))
        K = tally.truth.shape[1]
        right = rng.uniform(1 / K, 1, (K, 1)) if K > 1 else np.ones((1, 1))
        rows = np.where(np.eye(K, dtype=bool), right, (1 - right) / max(1, K - 1))
        phi, kappa = np.vstack([rows, rng.dirichlet(np.ones(K))]), least + rng.uniform(2, 20, K + 1)
        if c % 3 == 1:
            tally = Tally(np.zeros_like(tally.truth), np.zeros_like(tally.label), 0.0)
        elif c % 3 == 2 and permute:
            order = np.roll(np.arange(K), 1 + c // 3)
            tally = Tally(tally.truth[:, order], tally.label[:, order], 0.0)
        starts.append(_rows_given(tally, phi, kappa, rng))
    return starts


def first_states(begin: Begin, model: Model, options: Options, permute: bool) -> Sequence[State]:
    """Return the states at which the chains of a model start; see ``diffuse``."""
    prior, run = options.prior or Prior(), options.run or Run()
    starts = diffuse(begin, options.seed, run.chains, prior.least, permute)
    if not model.prevalence.hierarchical:
        starts = [start._replace(phi=start.phi[:0], kappa=start.kappa[:0]) for start in starts]
    if not prior.difficulty:
        return starts
    spreads = FIRST_SPREADS * run.chains
    return [with_effects(start, spreads[c], prior.families) for c, start in enumerate(starts)]


def families_of(panel: Panel | None, prior: Prior) -> Codes:
    """Return the family of each judge (J), or (0) if families have no effects; refuse a panel that has none."""
    family = NO_FAMILIES if panel is None or not prior.families else panel.shared_families()
    if prior.families and not family.size:
        raise UsageError(
            "effects of families need judges of which some share a family: give a table of judges (--judges)"
        )
    return family


def settle(
    steps: Sequence[Step], starts: Sequence[State], sizes: Sizes, run: Run, seed: int, pool: Executor
) -> list[State]:
    """Return the states of chains after their first sweeps, with truths named as judges name them.

    Gold keeps the names of truths, so that nothing is renamed if there is some.
    """
    sweeps = min(SETTLING, run.warmup // 10)
    streams = [
        np.random.default_rng(child) for child in np.random.SeedSequence(seed, spawn_key=(2,)).spawn(len(starts))
    ]

    def go(step: Step, state: State, rng: np.random.Generator) -> State:
        for _ in range(sweeps):
            state = step(state, rng, NOWHERE)
        order = _names(np.einsum("j,jkl->kl", sizes.judged, state.confusion))
        return state if sizes.gold else _renamed(state, order)

    return list(pool.map(go, steps, starts, streams))


def _renamed(state: State, order: Codes) -> State:
    """Return a state with its truths in another order."""
    K, phi, kappa, wrong = order.size, state.phi, state.kappa, state.wrong
    if kappa.size:  # a population for each truth, then that of topics
        every = np.r_[order, K]
        phi, kappa = phi[every], kappa[every]
        phi = np.vstack([phi[:K], phi[K:, order]])
    prevalence, confusion = state.prevalence[:, order], np.ascontiguousarray(state.confusion[:, order])
    wrong = wrong[order] if wrong.size else wrong
    return state._replace(prevalence=prevalence, confusion=confusion, phi=phi, kappa=kappa, wrong=wrong)


def _rows_given(tally: Tally, phi: Floats, kappa: Floats, rng: np.random.Generator) -> State:
    """Return populations with prevalence and confusion drawn given them and the tally."""
    pseudo = kappa[:, None] * phi  # (K + 1, K)
    prevalence = dirichlet_rows(pseudo[-1] + tally.truth, rng)
    return State(prevalence, dirichlet_rows(pseudo[:-1] + tally.label, rng), phi, kappa)


class Drawn(NamedTuple):
    """The result of sampling."""

    block: Block
    outcome: EmResult
    posterior: Floats  # (I, K + E) p(truth | labels), and the columns of item effects
    draws: Draws


class Sizes(NamedTuple):
    """The sizes of what is drawn."""

    items: int
    judges: int
    labels: int
    topics: int
    judged: Codes  # (J) judgments of each judge
    gold: bool  # whether some truths are known


def draw(
    model: Model,
    judgments: Judgments,
    gold: Codes | None,
    options: Options,
    pool: Executor,
    progress: Progress | None = None,
) -> Drawn:
    """Sample a model, and warn if the chains have not converged."""
    block, topics = model.block(judgments, gold)
    prior, run = options.prior or Prior(), options.run or Run()
    block = block._replace(family=families_of(judgments.panel, prior))
    judged = np.bincount(judgments.judge, minlength=block.judges)
    sizes = Sizes(block.topic.size, block.judges, block.labels, topics, judged, bool((block.gold >= 0).any()))
    refuse_run(sizes, run)
    if model.sampler is None:
        raise UsageError(f"model '{model.name}' is not sampled")
    counted = np.zeros((topics, block.labels)) if prior.gold_informs else of_gold(block, topics)
    step = model.sampler(Sweep(block), counted)
    vote = partial(voted_by_chance, block, topics=topics)
    starts = first_states(vote, model, options, permute=not sizes.gold)
    if run.truths:
        nothing = pack(np.zeros(block.topic.size, np.int32), block.labels)
        starts = [start._replace(truth=nothing) for start in starts]
    starts = settle([step] * run.chains, starts, sizes, run, options.seed, pool)
    draws = sample(
        step,
        starts,
        block.topic.size,
        run,
        options.seed,
        pool,
        Hooks(
            None if progress is None else Watch(run.chains, progress),
            lambda draws: named(draws, sizes, block)[2].good,
        ),
    )
    draws, renamed = (draws, []) if sizes.gold else aligned(draws, sizes.judged)
    draws, note = modes(draws, block)
    diagnosis = named(draws, sizes, block)[2]
    warn(diagnosis, renamed, draws, sizes, note)
    outcome = EmResult(means(draws, sizes, prior), (), draws.sweeps, ended(draws, diagnosis))
    posterior = draws.probability.mean(axis=0)
    if model.items.columns:
        posterior = np.column_stack([posterior, model.posterior(block, outcome.params)[0][:, block.labels :]])
    return Drawn(block, outcome, posterior, draws)


def named(draws: Draws, sizes: Sizes, block: Block | None = None) -> tuple[Draws, list[int], Convergence]:
    """Return aligned draws, the chains whose truths had to be renamed, and the convergence of all.

    Gold keeps the names of truths, so that nothing is renamed if there is some. Convergence is judged by the
    populations or the prevalence and, less strictly, by judges' matrices and, given a ``block``, by items.
    """
    called, renamed = (draws, []) if sizes.gold else aligned(draws, sizes.judged)
    diagnosis = convergence(_watched(called))
    if diagnosis.good:
        detail = convergence(_details(called, sizes.judged, block))._replace(close=CLOSE_DETAIL, enough=ENOUGH_DETAIL)
        diagnosis = diagnosis if detail.good else detail
    return called, renamed, diagnosis


def _details(draws: Draws, judged: Codes, block: Block | None) -> dict[str, Floats]:
    """Return the draws of what users look at: how often judges are right, the truth of items, and difficulty."""
    K = draws.confusion.shape[3]
    busiest = np.argsort(-judged, kind="stable")[:DETAILS]
    cells = {"confusion": np.einsum("cdjkk->cdjk", draws.confusion[:, :, busiest])} if K > 1 else {}
    cells["prevalence"] = draws.prevalence[:, :, 0]
    if draws.spread.size:
        cells["spread"] = draws.spread
    open_items = [] if block is None else _open_items(draws, block)
    if block is not None and open_items:
        cells["items"] = np.stack([_truth_draws(draws, block, i) for i in open_items], axis=2)
    return cells


def _open_items(draws: Draws, block: Block) -> list[int]:
    """Return items whose truth is neither known nor certain, spread evenly over all of them."""
    most = draws.probability.mean(axis=0).max(axis=1)
    candidates = np.flatnonzero((block.gold < 0) & (most < CERTAIN) & (np.diff(block.start) > 0))
    chosen = np.unique(np.linspace(0, candidates.size - 1, min(DETAILS, candidates.size)).astype(int))
    return [int(i) for i in candidates[chosen]]


def _truth_draws(draws: Draws, block: Block, item: int) -> Floats:
    """Return the logs of p(first truth, labels) to p(last but one, labels) of an item (C, D, K - 1), less the last."""
    topic = block.topic[item] if draws.prevalence.shape[2] > 1 else 0
    logs = np.log(np.maximum(draws.prevalence[:, :, topic], FLOOR))
    for n in range(block.start[item], block.start[item + 1]):
        chance = draws.confusion[:, :, block.cell[n] // block.labels, :, block.label[n]]
        logs = logs + np.log(np.maximum(chance, FLOOR)) * (block.weight[n] if block.weight.size else 1.0)
    relative: Floats = logs[..., :-1] - logs[..., -1:]
    return relative


def modes(draws: Draws, block: Block) -> tuple[Draws, str]:
    """Return the draws without chains in a mode of clearly lower evidence, and a note if chains disagree.

    Chains are in different modes if their probabilities of truths differ on average by more than ``APART``, and far
    more than within each chain, so that longer chains would not agree either.
    """
    chains = draws.probability.shape[0]
    if chains < 2 or not draws.complete:
        return draws, ""
    logs = np.array([_evidence_of(draws, block, c) for c in range(chains)])  # (C, draws)
    mean, spread = logs.mean(axis=1), logs.std(axis=1)
    best = int(mean.argmax())
    distance = np.abs(draws.probability - draws.probability[best]).sum(axis=2).mean(axis=1) / 2
    other = [c for c in range(chains) if distance[c] > APART and _separate(draws, block, best, c)]
    lower = [c for c in other if mean[best] - mean[c] > max(LOWER, 2 * (spread[c] + spread[best]))]
    if lower:
        rest = [c for c in range(chains) if c not in lower]
        were = "was" if len(lower) == 1 else "were"
        note = (
            f"{len(lower)} of {chains} chains ended in another mode of the posterior, with a mean log evidence of "
            f"{mean[lower].max():,.1f} instead of {mean[best]:,.1f}, and {were} left out"
        )
        arrays: dict[str, Any] = {
            name: field[rest] for name, field in draws._asdict().items() if isinstance(field, np.ndarray) and field.size
        }
        return draws._replace(**arrays), note
    if other:
        note = (
            f"the posterior has several modes: chains differ by up to {distance.max():.0%} in the probabilities of "
            "truths, with about the same evidence; all are kept, and probabilities are averages over them"
        )
        return draws, note
    return draws, ""


def _separate(draws: Draws, block: Block, first: int, second: int) -> bool:
    """Whether two chains are apart in the truths of most items that are not certain in both."""
    both = draws._replace(**{name: getattr(draws, name)[[first, second]] for name in PER_CHAIN})
    items = _open_items(both, block)
    if not items:
        return False
    return bool(np.nanmedian(r_hat(np.stack([_truth_draws(both, block, i) for i in items], axis=2))) > SEPARATE)


def _evidence_of(draws: Draws, block: Block, chain: int) -> list[float]:
    """Return the log evidence of some draws of a chain."""
    D = draws.prevalence.shape[1]
    families, logs = by_family(block) if draws.spread.shape[2:] == (2,) else None, []
    for d in np.unique(np.linspace(0, D - 1, LOOKS).astype(int)):
        prevalence, confusion, side = draws.prevalence[chain, d], draws.confusion[chain, d], None
        if families is not None:
            items = family_posterior(families, prevalence, confusion, *draws.spread[chain, d].tolist())[1]
            logs.append(float(items[:, 1].sum()))
            continue
        if draws.spread.size:
            spread, side = float(draws.spread[chain, d, 0]), state_labels(block.labels)
            prevalence, confusion = state_prior(prevalence), state_rows(confusion, spread)
        logs.append(truth_posterior(block, prevalence, confusion, side)[1])
    return logs


def means(draws: Draws, sizes: Sizes, prior: Prior) -> Params:
    """Return the posterior means of prevalence and matrices; an unknown judge is the mean of the population."""
    prevalence, confusion = draws.prevalence.mean(axis=(0, 1)), draws.confusion.mean(axis=(0, 1))
    if not draws.kappa.size:
        pseudo = prior.pseudo_counts(sizes.labels)
        unseen = prevalence.mean(axis=0) if len(prevalence) > 1 else np.empty(0)
        params = Params(prevalence, confusion, pseudo / pseudo.sum(axis=1, keepdims=True), unseen=unseen)
    else:
        phi = draws.phi.mean(axis=(0, 1))
        params = Params(prevalence, confusion, phi[:-1], unseen=phi[-1])
    if not draws.spread.size:
        return params
    spread = draws.spread.mean(axis=(0, 1))
    typical = difficulty_skill(params.population[None], spread)[0]
    return params._replace(skill=difficulty_skill(confusion, spread), typical=typical)


def of_gold(block: Block, topics: int) -> Floats:
    """Return how many gold items of each truth each topic has (T, K)."""
    gold = np.flatnonzero(block.gold >= 0)
    cell = (block.topic[gold] if topics > 1 else 0) * block.labels + block.gold[gold]
    return np.bincount(cell, minlength=topics * block.labels).reshape(topics, block.labels).astype(float)


def refuse_run(sizes: Sizes, run: Run) -> None:
    """Refuse a run whose draws would not fit in memory, or could never be enough."""
    if run.until_converged and run.chains * run.draws < ENOUGH:
        raise UsageError(
            f"{run.chains} x {run.draws} draws cannot have the effective sample size of {ENOUGH} that convergence "
            "needs: keep more draws"
        )
    each = 8 * (sizes.judges * sizes.labels**2 + sizes.topics * sizes.labels) + (sizes.items // 4 if run.truths else 0)
    size = run.chains * run.draws * each
    if size > MOST_BYTES:
        fits = int(MOST_BYTES / (run.chains * each))
        longer = f"fewer of a longer run, such as draws {fits:,} with thin {-(-run.draws * run.thin // max(1, fits)):,}"
        raise UsageError(
            f"{run.chains * run.draws:,} draws of {sizes.judges:,} judges' matrices would need {size / 1e9:,.1f} GB: "
            f"keep {longer if fits >= ENOUGH // run.chains > 0 else 'fewer chains, or fewer draws'}"
        )


def _watched(draws: Draws) -> dict[str, Floats]:
    """Return the draws of the parameters that mix worst (C, D, ...): populations or, without any, prevalence."""
    return {"phi": draws.phi, "kappa": draws.kappa} if draws.kappa.size else {"prevalence": draws.prevalence}


def ended(draws: Draws, diagnosis: Convergence) -> str:
    """Return how the run ended, in words."""
    C, D = draws.prevalence.shape[:2]
    if not draws.complete:
        return "interrupted"
    return diagnosis.words if not diagnosis.good else f"drew {C} x {D:,}, {diagnosis.words}"


def warn(diagnosis: Convergence, renamed: list[int], draws: Draws, sizes: Sizes, note: str = "") -> None:
    """Warn of what is wrong with the draws, and say what to do; ``note`` is that of ``modes``."""
    if note:
        warnings.warn(note, AdjudgeWarning, 4)
    if renamed:
        chains = ", ".join(str(c + 1) for c in renamed)
        warnings.warn(
            f"label switching: the truths of chain {chains} were renamed to match the judges' labels", AdjudgeWarning, 4
        )
    if draws.complete and not diagnosis.good:
        few = draws.kappa.size and sizes.judges < FEW
        other = f"; {sizes.judges} judges are few for a population, and hybrid-confusion needs none" if few else ""
        warnings.warn(f"{diagnosis.words}: give more draws, or let it run until_converged{other}", AdjudgeWarning, 4)


def aligned(draws: Draws, judged: Codes) -> tuple[Draws, list[int]]:
    """Return the draws with truths named as judges name them, and the chains whose truths had to be renamed.

    ``judged`` (J) is the number of judgments of each judge, by which their matrices are averaged.
    """
    names = [_names(np.einsum("j,djkl->kl", judged, chain)) for chain in draws.confusion]
    renamed = [c for c, order in enumerate(names) if (order != np.arange(order.size)).any()]
    if not renamed:
        return draws, []
    prevalence, confusion, phi, kappa, probability = (np.array(field) for field in draws[:5])
    wrong = np.array(draws.wrong)
    for c in renamed:
        order = names[c]
        prevalence[c], probability[c] = prevalence[c][..., order], probability[c][..., order]
        confusion[c] = confusion[c][:, :, order]
        if kappa.shape[2]:  # a population for each truth, then that of topics
            every = np.r_[order, order.size]
            phi[c], kappa[c] = phi[c][:, every], kappa[c][:, every]
            phi[c][:, -1] = phi[c][:, -1][:, order]
        if wrong.size:
            wrong[c] = wrong[c][:, order]
    truth = _renamed_bits(draws, names) if draws.truth.size else draws.truth
    renamed_draws = draws._replace(
        prevalence=prevalence,
        confusion=confusion,
        phi=phi,
        kappa=kappa,
        probability=probability,
        truth=truth,
        wrong=wrong,
    )
    return renamed_draws, renamed


def aligned_to(draws: Draws, matrices: Floats) -> Draws:
    """Return draws under fixed priors with the truths of each named as in these matrices (J, K, K).

    Of short chains that begin there, and of few judges, some swap names on their way.
    """
    C, D, _, K, _ = draws.confusion.shape
    likeness = np.einsum("jkl,cdjml->cdkm", matrices, draws.confusion)  # similarity of truth m and the one named k
    swapped = np.argwhere((likeness.argmax(axis=3) != np.arange(K)).any(axis=2))  # the names of all others are best
    order = np.tile(np.arange(K), (C, D, 1))
    for c, d in swapped:
        order[c, d] = best_order(likeness[c, d].T)
    if (order == np.arange(K)).all():
        return draws
    confusion = np.take_along_axis(draws.confusion, order[:, :, None, :, None], axis=3)
    prevalence = np.take_along_axis(draws.prevalence, order[:, :, None], axis=3)
    return draws._replace(prevalence=prevalence, confusion=confusion)


def _names(pooled: Floats) -> Codes:
    """Return which truth (K) gets the name of each label, from the average matrix of all judges."""
    return best_order(pooled / np.maximum(pooled.sum(axis=1, keepdims=True), np.finfo(float).tiny))


def _renamed_bits(draws: Draws, names: list[Codes]) -> NDArray[np.uint8]:
    """Return the bits of kept truths with the truths renamed."""
    items, K = draws.probability.shape[1:]
    called = [np.argsort(order)[unpack(chain, items)] for order, chain in zip(names, draws.truth, strict=True)]
    return np.stack([[pack(draw, K) for draw in chain] for chain in called])
