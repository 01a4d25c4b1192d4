"""The hierarchical Bayesian model of relevance coding, for any number of labels (Carpenter 2011; paper 000).

Judges are a population: the rows of their matrices for truth k come from Dirichlet(kappa_k phi_k), and phi and kappa
are learned with them. So are topics: the prevalence of each comes from Dirichlet(kappa_pi phi_pi). With two labels
these are the beta distributions of the paper. A judge with few judgments is close to their population, and a judge or
a topic that the fit does not have is the mean of its population. With difficulty and more than two labels, diagonals
and the shares of wrong labels have a kappa each (``kernels.difficulty``).

>>> import adjudge, warnings
>>> warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # such a short run does not converge
>>> crowd = adjudge.simulate("carpenter", seed=1, topics=3, items=30, judges=5, judgments=90, gold=1)
>>> adjudge.fit(crowd.judgments, "hierarchical", run=adjudge.Run(chains=1, warmup=10, draws=10)).draws.kappa.shape
(1, 10, 3)
"""

from __future__ import annotations

from dataclasses import replace

from adjudge.arrays import Floats
from adjudge.inference.chains import Step, Truths
from adjudge.inference.components import DIFFICULTY, NO_EFFECTS, OWN, POPULATION, difficulty_rows
from adjudge.inference.gibbs import with_difficulty, with_populations
from adjudge.inference.model import Model
from adjudge.inference.params import Prior
from adjudge.kernels.conjugate import Pareto


def hierarchical(prior: Prior) -> Model:
    """Return the model under a prior of kappa."""
    prior.refuse_beyond("hierarchical", ("shape", "least", "gold_informs", "difficulty", "families"))

    def sampler(over: Truths, counted: Floats) -> Step:
        kappa = Pareto(prior.shape, prior.least)
        return (
            with_difficulty(over, kappa, kappa, counted) if prior.difficulty else with_populations(over, kappa, counted)
        )

    return Model(
        "hierarchical",
        "judges are a population whose accuracy is learned, and so are topics; by sampling",
        "Carpenter 2011",
        prevalence=POPULATION,
        confusion=replace(OWN, rows=difficulty_rows) if prior.difficulty else OWN,
        assignment=None,
        items=DIFFICULTY if prior.difficulty else NO_EFFECTS,
        sampler=sampler,
        with_prior=hierarchical,
    )


MODELS = (hierarchical(Prior()),)
