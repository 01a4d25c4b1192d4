"""The hierarchical Bayesian model of relevance coding (Carpenter 2011, paper 000), for any number of labels.

Judges are a population: the rows of their matrices for truth k come from Dirichlet(kappa_k phi_k), and phi and kappa
are learned with them. So are topics: the prevalence of each comes from Dirichlet(kappa_pi phi_pi). With two labels
these are the beta distributions of the paper. A judge of few judgments is taken for one of her population, and so is
a judge, or a topic, never seen.
"""

from __future__ import annotations

from adjudge.arrays import Floats
from adjudge.inference.chains import Step
from adjudge.inference.gibbs import Truths, with_populations
from adjudge.inference.model import Model
from adjudge.inference.prior import Prior
from adjudge.inference.tables import confusion_columns
from adjudge.kernels.population import Pareto


def hierarchical(prior: Prior) -> Model:
    """Return the model under a prior of kappa."""
    prior.refuse_beyond("hierarchical", ("shape", "least", "gold_informs"))

    def sampler(over: Truths, counted: Floats) -> Step:
        return with_populations(over, Pareto(prior.shape, prior.least), counted)

    return Model(
        "hierarchical",
        "judges are a population whose accuracy is learned, and so are topics; by sampling",
        "Carpenter 2011",
        judge_columns=confusion_columns,
        sampler=sampler,
        populations=True,
        under=hierarchical,
    )


MODELS = (hierarchical(Prior()),)
