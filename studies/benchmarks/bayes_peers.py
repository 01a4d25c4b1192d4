"""The other samplers that adjudge is compared with, each in its own process. Results are cached: JAGS takes minutes.

JAGS draws the true labels as adjudge does. NumPyro and nutpie need gradients, so the true labels are summed out. A
peer that is not installed is None. ``ADJUDGE_PEERS`` names the interpreter that has NumPyro and nutpie,
``ADJUDGE_CACHE`` the folder of cached results, by default a temporary folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.data.judgments import Judgments
from adjudge.inference.chains import Run
from adjudge.kernels.truth import vote_shares

INSTALL = {
    "JAGS": "apt-get install jags",
    "NumPyro": "pip install numpyro, in the interpreter that ADJUDGE_PEERS names",
    "nutpie": "pip install nutpie pymc numba, in the interpreter that ADJUDGE_PEERS names",
}
# Probabilities are kept 1e-6 away from 0 and 1: JAGS ends with an error if one is rounded to either.
RELEVANCE = """model {
  phi_pi ~ dbeta(1, 1)
  phi_0 ~ dbeta(1, 1)
  phi_1 ~ dbeta(1, 1)
  kappa_pi ~ dpar(1.5, least)
  kappa_0 ~ dpar(1.5, least)
  kappa_1 ~ dpar(1.5, least)
  for (t in 1:T) { pi[t] ~ dbeta(kappa_pi * phi_pi, kappa_pi * (1 - phi_pi)) T(0.000001, 0.999999) }
  for (j in 1:J) {
    theta0[j] ~ dbeta(kappa_0 * phi_0, kappa_0 * (1 - phi_0)) T(0.000001, 0.999999)
    theta1[j] ~ dbeta(kappa_1 * phi_1, kappa_1 * (1 - phi_1)) T(0.000001, 0.999999)
  }
  for (i in 1:I) { z[i] ~ dbern(pi[topic[i]]) }
  for (n in 1:N) { y[n] ~ dbern(z[item[n]] * theta1[judge[n]] + (1 - z[item[n]]) * (1 - theta0[judge[n]])) }
}
"""
HYBRID = """model {
  p ~ ddirch(alpha)
  for (j in 1:J) { for (k in 1:K) { theta[j, k, 1:K] ~ ddirch(Lambda[k, 1:K]) } }
  for (i in 1:I) { z[i] ~ dcat(p) }
  for (n in 1:N) { y[n] ~ dcat(theta[judge[n], z[item[n]], 1:K]) }
}
"""
HYPER = ("phi_pi", "phi_0", "phi_1", "kappa_pi", "kappa_0", "kappa_1")


class Outcome(NamedTuple):
    """The usage and the draws of a peer."""

    cpu: float  # seconds, all threads
    wall: float  # seconds
    mebibytes: float  # peak resident memory
    draws: dict[str, Any]  # by parameter (C, D)


class Usage(NamedTuple):
    """The time and memory that a process used."""

    cpu: float
    wall: float
    mebibytes: float


def run_command(command: Sequence[str], folder: str | Path | None = None) -> tuple[Usage, str]:
    """Run a command, and return its usage and its output."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}:\n{text[-2000:]}")
    return Usage(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024), text


def cached(name: str, work: Callable[[], Outcome]) -> Outcome:
    """Return an outcome from the cache; compute and store it if it is missing."""
    folder = Path(os.environ.get("ADJUDGE_CACHE", Path(tempfile.gettempdir()) / "adjudge-peers"))
    file = folder / f"{name}.json"
    if not file.exists():
        print(f"{name}: running, this takes a while", file=sys.stderr)
        outcome = work()
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(outcome), encoding="utf8")
    return Outcome(*json.loads(file.read_text(encoding="utf8")))


def jags_relevance(judgments: Judgments, run: Run, least: float) -> Outcome | None:
    """Return the run of Carpenter's model in JAGS, initialised by the vote, with draws or means of the true labels."""
    block = judgments.block(by_topic=True)
    data = {
        "topic": np.asarray(block.topic) + 1,
        "T": int(block.topic.max()) + 1,
        "y": np.asarray(judgments.label),
        "least": least,
    }
    share, rng = vote_shares(block)[:, 1], np.random.default_rng(0)
    starts = []
    for _ in range(run.chains):  # judges above chance, or JAGS exchanges the labels
        z = np.where(share == 0.5, rng.random(share.size) < 0.5, share > 0.5) * 1
        right = {name: rng.uniform(0.6, 0.9, len(judgments.judges)) for name in ("theta0", "theta1")}
        starts.append({"z": z, "phi_0": 0.7, "phi_1": 0.7, "kappa_0": 3.0, "kappa_1": 3.0, **right})
    monitors = [*HYPER, "pi", "theta0", "theta1"]  # as in adjudge
    name = "jags-relevance-truths" if run.truths else "jags-relevance"
    return _jags(name, RELEVANCE, judgments, data, starts, run, monitors, HYPER)


def jags_hybrid(judgments: Judgments, run: Run) -> Outcome | None:
    """Return the run of hybrid-confusion in JAGS, initialised by the vote."""
    K = len(judgments.scale)
    data = {
        "K": K,
        "y": np.asarray(judgments.label).astype(int) + 1,
        "alpha": np.ones(K),
        "Lambda": np.ones((K, K)) + 3 * np.eye(K),
    }
    starts = [{"z": vote_shares(judgments.block()).argmax(axis=1) + 1}] * run.chains
    return _jags("jags-hybrid", HYBRID, judgments, data, starts, run, ["p", "theta"], ())


def nuts(peer: str, judgments: Judgments, warmup: int, draws: int, least: float) -> Outcome | None:
    """Return one chain of Carpenter's model in NumPyro or nutpie; the CPU time is that of sampling."""
    python = os.environ.get("ADJUDGE_PEERS", sys.executable)
    if subprocess.run([python, "-c", f"import {peer.lower()}"], capture_output=True, check=False).returncode:
        return None

    def work() -> Outcome:
        codes = {"item": judgments.item(), "judge": judgments.judge, "y": judgments.label}
        topic = judgments.block(by_topic=True).topic
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "data.npz"
            np.savez(file, least=least, topic=topic, **{name: np.asarray(c).astype(int) for name, c in codes.items()})
            program = str(Path(__file__).with_name("bayes_nuts.py"))
            spent, output = run_command([python, program, peer, str(file), str(warmup), str(draws)])
        result = json.loads(output.splitlines()[-1])
        return Outcome(result["cpu"], spent.wall, spent.mebibytes, result["draws"])

    return cached(f"{peer.lower()}-{warmup}-{draws}", work)


def _jags(
    name: str,
    model: str,
    judgments: Judgments,
    data: dict[str, Any],
    starts: Sequence[dict[str, Any]],
    run: Run,
    monitors: Sequence[str],
    parameters: Sequence[str],
) -> Outcome | None:
    """Return the outcome of JAGS, None if it is not installed."""
    if shutil.which("jags") is None:
        return None

    def work() -> Outcome:
        codes = {"item": judgments.item() + 1, "judge": np.asarray(judgments.judge) + 1}
        sizes = {"N": len(judgments), "I": len(judgments.items), "J": len(judgments.judges)}
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "model.bug").write_text(model)
            (folder / "data.R").write_text(_dump({**sizes, **codes, **data}))
            lines = ['model in "model.bug"', 'data in "data.R"', f"compile, nchains({run.chains})"]
            for chain, start in enumerate(starts, start=1):
                seeded = f'".RNG.name" <- "base::Mersenne-Twister"\n".RNG.seed" <- {chain}\n'
                (folder / f"start{chain}.R").write_text(seeded + _dump(start))
                lines.append(f'parameters in "start{chain}.R", chain({chain})')
            lines += ["initialize", f"update {run.warmup}"]
            lines += [f"monitor {parameter}, thin({run.thin})" for parameter in monitors]
            lines += ["monitor z, type(mean)"] if name == "jags-relevance" else [f"monitor z, thin({run.thin})"]
            lines += [f"update {run.draws * run.thin}", "coda *", "exit"]
            (folder / "script.cmd").write_text("\n".join(lines) + "\n")
            spent, _ = run_command(["jags", "script.cmd"], folder)
            return Outcome(*spent, _coda(folder, run.chains, parameters))

    return cached(name, work)


def _dump(values: dict[str, Any]) -> str:
    """Return values in the format of R."""
    lines = []
    for name, value in values.items():
        array = np.asarray(value)
        cells = ", ".join(map(str, array.ravel(order="F").tolist()))
        text = str(array.item()) if array.ndim == 0 else f"c({cells})"
        if array.ndim > 1:
            text = f"structure({text}, .Dim = c({', '.join(map(str, array.shape))}))"
        lines.append(f'"{name}" <- {text}\n')
    return "".join(lines)


def _coda(folder: Path, chains: int, parameters: Sequence[str]) -> dict[str, Any]:
    """Return the draws of parameters in every chain (C, D) from the files of JAGS."""
    index = [line.split() for line in (folder / "CODAindex.txt").read_text().splitlines()]
    rows = {name: (int(first) - 1, int(last)) for name, first, last in index}
    draws: dict[str, Any] = {name: [] for name in parameters}
    for chain in range(1, chains + 1 if parameters else 1):
        column = [float(line.split()[1]) for line in (folder / f"CODAchain{chain}.txt").read_text().splitlines()]
        for name in parameters:
            draws[name].append(column[slice(*rows[name])])
    return draws
