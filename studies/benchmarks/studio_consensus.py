"""Claim: the default model of the desk is calibrated for few judgments by few judges.

The demo campaign with its simulated judges, ten times: log loss and accuracy of the live consensus on the judged
ordinary items, by model, relative to the grades that the simulated judges tried to give.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from adjudge.studio.consensus import accepted_judgments, consensus
from adjudge.studio.demo import demo_truth, make_demo, simulate_demo
from adjudge.studio.studio import reading_campaign
from studies.benchmarks.claim import Claim, description

MODELS = ("majority", "one-coin", "single-confusion", "dawid-skene", "hybrid-confusion")
SEEDS = 10


def measure() -> Claim:
    """Compare the models on ten demo campaigns."""
    truth = demo_truth()
    losses: dict[str, list[tuple[float, float]]] = {model: [] for model in MODELS}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(SEEDS):
            campaign_folder = Path(folder) / str(seed)
            make_demo(campaign_folder)
            simulate_demo(campaign_folder, seed)
            with reading_campaign(campaign_folder) as (campaign, connection):
                rows = accepted_judgments(connection, campaign.gold)
            items = np.array([i for i in np.unique(rows.item) if i not in rows.gold])
            right = np.array([truth[rows.pairs[int(item)]] > 0 for item in items])
            for model in MODELS:
                belief = np.clip(consensus(rows, model).belief[items], 1e-4, 1 - 1e-4)
                loss = -np.log(np.where(right, belief, 1 - belief)).mean()
                losses[model].append((float(loss), float(((belief > 0.5) == right).mean())))
    means = {model: np.mean(pairs, axis=0) for model, pairs in losses.items()}
    table = [[f"`{model}`", f"{loss:.3f}", f"{share:.3f}"] for model, (loss, share) in means.items()]
    how = description(__doc__)
    return Claim("The live consensus", how, ("model", "log loss", "accuracy"), table)


if __name__ == "__main__":
    print(measure(), file=sys.stdout)
