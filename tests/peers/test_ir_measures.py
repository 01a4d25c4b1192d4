"""Ranking measures against ir_measures and its providers: gdeval, cwl_eval, pytrec_eval, and its own."""

import shutil
import sys

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, ERR, RBP, RR, Bpref, Judged, P, R, SetF, Success, infAP, nDCG

from adjudge.metrics.ranking import KINDS, parse_measure
from adjudge.metrics.score import score_runs

if sys.version_info >= (3, 14):
    pytest.skip("ir_measures 0.4.3 cannot parse names with this version of Python", allow_module_level=True)

EXACT = [
    AP(rel=2),
    AP(rel=2) @ 7,
    AP(judged_only=True),
    nDCG @ 10,
    nDCG(gains={1: 2, 2: 5, 3: 9}) @ 10,
    nDCG(judged_only=True) @ 5,
    P(rel=2) @ 5,
    P(judged_only=True) @ 5,
    R(rel=3) @ 8,
    RR,
    RR(rel=2) @ 10,
    Bpref(rel=2),
    infAP(rel=2),
    Success(rel=3) @ 5,
    SetF(rel=2, beta=0.5),
    Judged,
    Judged @ 10,
    Judged @ 100,
    RBP(rel=1),
    RBP(rel=2, p=0.5),
]
PRINTED = [nDCG(dcg="exp-log2") @ 10, nDCG(dcg="exp-log2") @ 40, ERR @ 3, ERR @ 20]  # by gdeval, to five decimals


def random_case(rng):
    """Return grades and a run of three topics, without ties, because providers order these differently."""
    grades, run = {}, {}
    for topic in "123":
        names = [f"d{n}" for n in rng.permutation(60)]
        grades[topic] = {name: int(rng.choice(4, p=[0.5, 0.25, 0.15, 0.1])) for name in names[:40]} | {"sure": 3}
        returned = rng.permutation(names)[:30]
        run[topic] = {str(name): float(score) for name, score in zip(returned, rng.permutation(30), strict=True)}
    return grades, run


def compare(measures, tolerance):
    """Compare every topic of ten runs, with measures given as objects.

    Each measure is computed on its own there: together, nDCG with and without gains are mixed up for some hash seeds.
    """
    for seed in range(10):
        grades, run = random_case(np.random.default_rng(seed))
        ours = score_runs({"a": run}, grades, measures, draws=1)
        named = {parse_measure(measure).name: measure for measure in measures}
        rows = [row for measure in measures for row in ir_measures.iter_calc([measure], grades, run)]
        theirs = {(row.query_id, str(row.measure)): row.value for row in rows}
        assert len(ours.by_topic()) == 3 * len(measures) == len(theirs)
        for row in ours.by_topic():
            assert row.value == pytest.approx(theirs[row.topic, str(named[row.measure])], abs=tolerance), row


def test_measures_are_those_of_ir_measures():
    """Objects of ir_measures are taken as they are, and have the values of its providers."""
    compare(EXACT, 1e-9)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl program")
def test_gains_in_powers_of_two_are_those_of_gdeval():
    """ERR and nDCG with exponential gains, which gdeval prints with five decimals."""
    compare(PRINTED, 5.001e-6)


@pytest.mark.parametrize("measure", [*EXACT, *PRINTED], ids=str)
def test_names_can_be_read_by_both(measure):
    """Our name of a measure is a name of the same measure there."""
    ours = parse_measure(str(measure))
    assert parse_measure(ir_measures.parse_measure(ours.name)).name == parse_measure(measure).name == ours.name


def test_every_kind_is_known_there():
    """All our names and aliases that do not come from trec_eval are theirs."""
    names = [alias for kind in KINDS.values() for alias in (kind.name, *kind.aliases)]
    assert [name for name in names if name not in ir_measures.measures.registry] == [
        "map_cut",
        "recip_rank",
        "ndcg_cut",
    ]
