"""Claim: Carpenter's run takes 1/150 of the CPU time of JAGS, with more effective draws.

The run of the paper: 3 chains of 1,000 warm-up and 1,000 kept sweeps on `trec2011_task2` (89,624 judgments, 762
judges, 100 topics), with kappa at least 0.1. Each program runs in its own process, from start to end; adjudge after
its kernels were compiled (median of five). Both keep either the means or all draws of the true labels. In JAGS,
probabilities are kept 1e-6 away from 0 and 1; without this it ends with an error.
Effective draws are bulk ESS, computed by adjudge for all programs. A CPU second is a second of sampling with warm-up;
for JAGS, of the whole process. NumPyro and nutpie sum the true labels out and run one chain of 500 warm-up and 500
kept draws.
The hybrid model at the size of paper 003: 6,008 ratings of 48 items by 148 judges with five labels, 3 chains, 1,000
warm-up sweeps, 100 draws with a thinning of 10. JAGS draws the same.
A sweep of the hybrid model compared with an EM iteration of Dawid-Skene, one thread each, minimum of several rounds
after a warm-up; 5 judgments per item, five labels.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import adjudge
from adjudge.inference.chains import NOWHERE, Draws, Run, State, sample
from adjudge.inference.convergence import bulk_ess, r_hat
from adjudge.inference.gibbs import diffuse, voted_by_chance, with_populations, with_priors
from adjudge.inference.infer import cores
from adjudge.kernels.conjugate import Pareto
from adjudge.kernels.sweep import Sweep, pack
from adjudge.kernels.truth import expect
from studies.benchmarks import bayes_peers as peers
from studies.benchmarks.claim import SHARED, Claim

HOW = [" ".join(part.split()) for part in re.split(r"\n(?=Effective|The hybrid|A sweep)", __doc__.split("\n\n")[1])]
RUN, HYBRID_RUN, LEAST = Run(3, 1_000, 1_000), Run(3, 1_000, 100, 10), 0.1
GOALS = {"JAGS": 700, "NumPyro": 150, "nutpie": 80}  # ratios of the smallest effective draws per CPU second
SIZE, CROWDS = 1_000_000, (500, 5_000)


def relevance() -> adjudge.Judgments:
    """Return the data of paper 000."""
    return adjudge.read(str(SHARED / "data/trec2011_task2/labels.csv"), topic="topic")


def ratings() -> adjudge.Judgments:
    """Return ratings of the size of paper 003."""
    labels = [str(k) for k in range(5)]
    return adjudge.read(str(SHARED / "reference/jags_hybrid/labels.csv"), label="rating", labels=labels)


def paper_run(run: Run, workers: int) -> tuple[Draws, float, float]:
    """Return the draws of the paper's run, and the CPU and wall seconds that sampling took."""
    judgments = relevance()
    block = judgments.block(by_topic=True)
    step, topics = with_populations(Sweep(block), Pareto(1.5, LEAST)), int(block.topic.max()) + 1
    with ThreadPoolExecutor(workers) as pool:
        began = time.process_time(), time.perf_counter()
        starts = diffuse(partial(voted_by_chance, block, topics=topics), 0, run.chains)
        if run.truths:
            room = pack(np.zeros(block.topic.size, np.int32), block.labels)
            starts = [start._replace(truth=room) for start in starts]
        draws = sample(step, starts, len(judgments.items), run, 0, pool)
        return draws, time.process_time() - began[0], time.perf_counter() - began[1]


def print_run(began: float, truths: bool) -> None:
    """Run the sampler and print times and effective draws as JSON; the process started at the time ``began``."""
    draws, cpu, wall = paper_run(replace(RUN, truths=truths), min(cores(), RUN.chains))  # as fit does
    usage, wall_total = resource.getrusage(resource.RUSAGE_SELF), time.time() - began  # before the diagnostics
    spent = (usage.ru_utime + usage.ru_stime, wall_total, usage.ru_maxrss / 1024)
    chains = dict(zip(("phi_0", "phi_1", "phi_pi"), np.moveaxis(draws.phi[..., 1], 2, 0), strict=True))
    chains |= dict(zip(("kappa_0", "kappa_1", "kappa_pi"), np.moveaxis(draws.kappa, 2, 0), strict=True))
    worst = max(float(r_hat(part[..., 1]).max()) for part in (draws.prevalence, draws.confusion))
    effective = {name: float(bulk_ess(chain)) for name, chain in chains.items()}
    print(json.dumps({"spent": spent, "cpu": cpu, "wall": wall, "effective": effective, "r_hat": worst}))


def ours(truths: bool = False) -> tuple[peers.Usage, dict[str, Any]]:
    """Return the usage and the results of our run as a process: the median of five, after one that compiles."""
    program = "import sys; from studies.benchmarks import bayes; "
    program += "bayes.print_run(float(sys.argv[1]), bool(int(sys.argv[2])))"
    outcomes = []
    for _ in range(6):
        command = [sys.executable, "-c", program, str(time.time()), str(int(truths))]
        outcomes.append(json.loads(peers.run_command(command, Path(__file__).parents[2])[1].splitlines()[-1]))
    median_run = sorted(outcomes[1:], key=lambda outcome: outcome["spent"][0])[2]
    return peers.Usage(*median_run["spent"]), median_run


def not_installed(peer: str) -> str:
    """Return the text for a peer that is not installed."""
    return f"not installed: {peers.INSTALL[peer]}"


def compare_runs(sides: dict[str, tuple[tuple[peers.Usage, dict[str, Any]], peers.Outcome | None]]) -> Claim:
    """Compare the run of the paper with that of JAGS, with means or with all draws of the true labels stored."""
    rows = []
    for stored, ((spent, run), jags) in sides.items():
        figures = (f"{value:,.1f}" for value in (spent.cpu, run["cpu"], spent.wall))
        rows.append([f"adjudge, {stored}", *figures, f"{spent.mebibytes:,.0f}", "1x", "1x"])
        if jags is None:
            rows.append([f"JAGS, {stored}", not_installed("JAGS"), *[""] * 5])
        else:
            ratios = (f"{jags.cpu / ours:,.0f}x (goal 150x)" for ours in (spent.cpu, run["cpu"]))
            figures = (f"{value:,.0f}" for value in (jags.cpu, jags.wall, jags.mebibytes))
            cpu, *others = figures
            rows.append([f"JAGS, {stored}", cpu, "", *others, *ratios])
    worst = max(run["r_hat"] for (_, run), _ in sides.values())
    how = f"{HOW[0]} The largest R-hat of adjudge over all parameters of judges and topics is {worst:.4f}."
    head = (
        "",
        "CPU, s",
        "sampling only, s",
        "wall, s",
        "resident, MiB",
        "relative to our process",
        "relative to our sampling",
    )
    return Claim("Carpenter's run", how, head, rows)


def effective_draws(run: dict[str, Any], others: dict[str, peers.Outcome | None]) -> Claim:
    """Compare the effective draws per CPU second of every hyperparameter."""
    rates = {"adjudge": {name: n / run["cpu"] for name, n in run["effective"].items()}}
    rows = []
    for peer, outcome in others.items():
        if outcome is not None:
            draws = {name: np.asarray(outcome.draws[name]) for name in peers.HYPER}
            rates[peer] = {name: float(bulk_ess(chains)) / outcome.cpu for name, chains in draws.items()}
    slowest = {side: min(rate.values()) for side, rate in rates.items()}
    for side, rate in rates.items():
        ratio = f"{slowest['adjudge'] / slowest[side]:,.0f}x" + (f" (goal {GOALS[side]}x)" if side in GOALS else "")
        rows.append([side, *(f"{rate[name]:,.2f}" for name in peers.HYPER), ratio])
    rows += [[peer, not_installed(peer), *[""] * 6] for peer, outcome in others.items() if outcome is None]
    head = ("effective draws per CPU second", *peers.HYPER, "our slowest / their slowest")
    return Claim("Effective draws", HOW[1], head, rows)


def hybrid_run(jags: peers.Outcome | None) -> Claim:
    """Compare the run of paper 003 with a fit by EM and with JAGS."""
    judgments = ratings()
    block, K = judgments.block(), len(judgments.scale)
    step = with_priors(Sweep(block), np.ones((K, K)) + 3 * np.eye(K), np.ones(K))

    def run() -> None:
        with ThreadPoolExecutor(1) as pool:
            sample(step, diffuse(partial(voted_by_chance, block), 0, 3), len(judgments.items), HYBRID_RUN, 0, pool)

    took, em = least(run, 3), least(lambda: adjudge.fit(judgments, "dawid-skene", workers=1), 5)
    theirs = not_installed("JAGS") if jags is None else f"{jags.cpu:,.1f} ({jags.cpu / took:,.0f}x)"
    row = [f"{took:.2f}", f"{em:.3f}", f"{took / em:,.0f}x", theirs]
    head = ("adjudge, s", "Dawid-Skene fit, s", "ratio", "JAGS, s")
    return Claim("The run of paper 003", HOW[2], head, [row])


def sweeps() -> Claim:
    """Time a sweep of the hybrid model and an EM iteration over a million judgments."""
    rows, rng, K = [], np.random.default_rng(0), 5
    for judges in CROWDS:
        judgments = adjudge.simulate("dawid-skene", items=SIZE // 5, judges=judges, labels=K).judgments
        block = judgments.block()
        step, state = (
            with_priors(Sweep(block), np.ones((K, K)) + 3 * np.eye(K), np.ones(K)),
            diffuse(partial(voted_by_chance, block), 0, 1)[0],
        )
        for _ in range(5):
            state = step(state, rng, NOWHERE)
        probability = np.zeros((len(judgments.items), K))
        sides = repeated_sweep(step, state, rng, probability), repeated_em_step(block, state)
        sweep, em = (least(side, 15) for side in sides)
        rows.append([f"{judges:,}", f"{1e3 * sweep:.1f}", f"{1e3 * em:.1f}", f"{sweep / em:.2f} (goal 2)"])
    head = ("judges", "sweep, ms", "EM iteration, ms", "sweep / iteration")
    return Claim("A sweep over a million judgments", HOW[3], head, rows)


def repeated_sweep(
    step: Callable[..., State], state: State, rng: np.random.Generator, probability: np.ndarray
) -> Callable[[], object]:
    """Return a function that runs one sweep from the same state."""
    return lambda: step(state, rng, probability)


def repeated_em_step(block: object, state: State) -> Callable[[], object]:
    """Return a function that runs one EM iteration from the same state."""
    return lambda: expect(block, state.prevalence, state.confusion)


def least(work: Callable[[], object], rounds: int) -> float:
    """Return the minimum CPU time of several calls, after a first one."""
    work()
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def measure() -> list[Claim]:
    """Run adjudge, and the peers unless their results are cached."""
    judgments = relevance()
    others = {
        "JAGS": peers.jags_relevance(judgments, RUN, LEAST),
        "NumPyro": peers.nuts("NumPyro", judgments, 500, 500, LEAST),
        "nutpie": peers.nuts("nutpie", judgments, 500, 500, LEAST),
    }
    means, draws = ours(), ours(truths=True)
    every = peers.jags_relevance(judgments, replace(RUN, truths=True), LEAST)
    carpenter = compare_runs({"means of truths": (means, others["JAGS"]), "every truth drawn": (draws, every)})
    hybrid = hybrid_run(peers.jags_hybrid(ratings(), HYBRID_RUN))
    return [carpenter, effective_draws(means[1], others), hybrid, sweeps()]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))
