"""Carpenter's model with the true labels summed out, in NumPyro or nutpie; run by an interpreter that has them.

``python bayes_nuts.py nutpie data.npz 500 500`` prints, as JSON, the CPU seconds of one chain and its draws.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

START = {
    "phi_pi": 0.5,
    "phi_0": 0.7,
    "phi_1": 0.7,
    "kappa_pi": 3.0,
    "kappa_0": 3.0,
    "kappa_1": 3.0,
}  # so that labels are not exchanged
HYPER = tuple(START)


def numpyro_chain(data: Any, warmup: int, draws: int) -> dict[str, Any]:
    """Return the draws of NumPyro's NUTS."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from jax.ops import segment_sum
    from numpyro.infer import MCMC, NUTS, init_to_value

    numpyro.enable_x64()
    item, judge, y, topic = (jnp.asarray(data[name]) for name in ("item", "judge", "y", "topic"))
    J, T = int(judge.max()) + 1, int(topic.max()) + 1

    def rows(name: str, size: int, least: float) -> Any:
        phi = numpyro.sample(f"phi_{name}", dist.Beta(1.0, 1.0))
        kappa = numpyro.sample(f"kappa_{name}", dist.Pareto(least, 1.5))
        return numpyro.sample(f"rows_{name}", dist.Beta(kappa * phi, kappa * (1 - phi)).expand([size]).to_event(1))

    def model() -> None:
        least = float(data["least"])
        pi, theta0, theta1 = rows("pi", T, least), rows("0", J, least), rows("1", J, least)
        log_one = jnp.where(y == 1, jnp.log(theta1)[judge], jnp.log1p(-theta1)[judge])
        log_zero = jnp.where(y == 1, jnp.log1p(-theta0)[judge], jnp.log(theta0)[judge])
        ones, zeros = (segment_sum(part, item, topic.size, indices_are_sorted=True) for part in (log_one, log_zero))
        both = jnp.logaddexp(jnp.log(pi)[topic] + ones, jnp.log1p(-pi)[topic] + zeros)
        numpyro.factor("evidence", both.sum())

    kernel = NUTS(
        model,
        init_strategy=init_to_value(
            values=START
            | {f"rows_{n}": START[f"phi_{n}"] * np.ones(size) for n, size in (("pi", T), ("0", J), ("1", J))}
        ),
    )
    chain = MCMC(kernel, num_warmup=warmup, num_samples=draws, num_chains=1, progress_bar=False)
    chain.run(jax.random.PRNGKey(0))
    samples = chain.get_samples()
    return {name: np.asarray(samples[name])[None] for name in HYPER}


def nutpie_chain(data: Any, warmup: int, draws: int) -> dict[str, Any]:
    """Return the draws of nutpie."""
    import nutpie
    import pymc as pm
    import pytensor.tensor as pt

    item, judge, y, topic = (data[name] for name in ("item", "judge", "y", "topic"))
    J, T = int(judge.max()) + 1, int(topic.max()) + 1
    ends = np.r_[0, np.cumsum(np.bincount(item))]

    def rows(name: str, size: int) -> Any:
        phi = pm.Beta(f"phi_{name}", 1.0, 1.0, initval=START[f"phi_{name}"])
        kappa = pm.Pareto(f"kappa_{name}", alpha=1.5, m=float(data["least"]), initval=START[f"kappa_{name}"])
        return pm.Beta(
            f"rows_{name}", kappa * phi, kappa * (1 - phi), shape=size, initval=np.full(size, START[f"phi_{name}"])
        )

    def by_item(logs: Any) -> Any:
        running = pt.concatenate([[0.0], pt.cumsum(logs)])
        return running[ends[1:]] - running[ends[:-1]]

    with pm.Model() as model:
        pi, theta0, theta1 = rows("pi", T), rows("0", J), rows("1", J)
        log_one = pt.switch(y == 1, pt.log(theta1)[judge], pt.log1p(-theta1)[judge])
        log_zero = pt.switch(y == 1, pt.log1p(-theta0)[judge], pt.log(theta0)[judge])
        both = pt.logaddexp(pt.log(pi)[topic] + by_item(log_one), pt.log1p(-pi)[topic] + by_item(log_zero))
        pm.Potential("evidence", both.sum())
    compiled = nutpie.compile_pymc_model(model, backend="numba")
    began = time.process_time()
    trace = nutpie.sample(compiled, draws=draws, tune=warmup, chains=1, seed=0, progress_bar=False)
    spent = time.process_time() - began
    posterior = trace.posterior
    return {"cpu": spent, **{name: np.asarray(posterior[name]) for name in HYPER}}


def main() -> None:
    """Run the named sampler, and print its draws as JSON."""
    sampler, file, warmup, draws = sys.argv[1:]
    began = time.process_time()
    run = {"NumPyro": numpyro_chain, "nutpie": nutpie_chain}[sampler]
    draws_by_name = run(np.load(file), int(warmup), int(draws))
    cpu = draws_by_name.pop("cpu", time.process_time() - began)
    print(json.dumps({"cpu": cpu, "draws": {name: draw.tolist() for name, draw in draws_by_name.items()}}))


if __name__ == "__main__":
    main()
