"""Populations and rows in one call: the same as one by one."""

import numpy as np

from adjudge.kernels.block import Tally
from adjudge.kernels.conjugate import dirichlet_rows
from adjudge.kernels.population import Pareto, Population, draw_population
from adjudge.kernels.redraw import redraw


def test_it_is_what_draws_one_by_one_are():
    """From one stream: the populations in their order, then judges' rows, then topics'."""
    rng = np.random.default_rng(0)
    tally = Tally(rng.integers(0, 40, (5, 3)) * 1.0, rng.integers(0, 9, (7, 3, 3)) * 1.0, 0.0)
    phi, kappa, prior = rng.dirichlet([2, 2, 2], 4), rng.uniform(1, 9, 4), Pareto(1.5, 0.1)
    found = redraw(tally, phi, kappa, prior, np.random.default_rng(1))
    again = np.random.default_rng(1)
    tables = [*tally.label.transpose(1, 0, 2), tally.truth]
    alone = [
        draw_population(np.ascontiguousarray(table), Population(phi[p], float(kappa[p])), prior, again)
        for p, table in enumerate(tables)
    ]
    np.testing.assert_allclose(found.phi, [one.phi for one in alone])
    np.testing.assert_allclose(found.kappa, [one.kappa for one in alone])
    pseudo = found.kappa[:, None] * found.phi
    np.testing.assert_allclose(found.confusion, dirichlet_rows(pseudo[:-1] + tally.label, again))
    np.testing.assert_allclose(found.prevalence, dirichlet_rows(pseudo[-1] + tally.truth, again))
