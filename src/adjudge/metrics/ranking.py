"""Ranking measures by name, such as ``nDCG@10`` or ``RBP(rel=1, p=0.8)``, of one topic for many draws of its labels.

Names are those of ir_measures, with MAP and MRR for AP and RR. ``KINDS`` is the table of all measures; help texts and
error messages are made from it. Numbers are those of trec_eval: a document that nobody judged has grade 0, as has one
with a negative grade; a topic without a relevant document has the value 0, although strictly it has none.
``@k`` uses the first k documents; AP@k and nDCG@k are trec_eval's map_cut and ndcg_cut. ERR and nDCG with exponential
gains are those of gdeval. A document is relevant if its grade is at least ``rel``, or else ``level``.

A measure turns the label of a document into a gain, and most are one of two functions of the gains in ranked order:

- a sum, each gain times a discount of its rank, divided by what is possible (P, R, nDCG, RBP);
- a cascade: the gain is the chance that the user stops there, and the rank has a reward (MRR, ERR, Success).

``evaluation.expected_measures`` computes expectations of both from the same table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.runs import as_single
from adjudge.errors import UsageError, quote, quoted
from adjudge.metrics.ranking_kernels import (
    average_precision,
    binary_preference,
    cascade,
    discounted_gain,
    divide,
    gains_of,
    ideal_gain,
    inferred_average_precision,
    label_counts,
    tied_average_precision,
    tied_cascade,
    tied_discounted_gain,
    tied_precision_at_total,
)

NO_CUTOFF = 2**31 - 1  # beyond every ranking
LEVEL = 1.0  # the grade from which a document is relevant
DEFAULT = ("MAP", "nDCG@10", "P@10")
NEEDED, ALLOWED = "@k", "[@k]"


class Gains(NamedTuple):
    """The labels of a topic's documents as one measure sees them."""

    gain: Floats  # (D, S)
    total: Floats  # (S) number of relevant documents, or the discounted gain of the best order
    weight: Floats  # (n) discount or reward of every rank that counts


class Parameter(NamedTuple):
    """A parameter of measures."""

    default: Any
    expects: str
    allows: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    """Whether a parameter is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    """Whether a parameter is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_gains(value: Any) -> bool:
    """Whether a parameter gives gains to grades."""
    return (
        isinstance(value, dict)
        and all(_is_number(n) and n >= 0 for n in value.values())
        and all(map(_is_number, value))
    )


GAINS: Mapping[str, Callable[[Floats], Floats]] = {  # of grades from 0
    "log2": lambda grade: grade,
    "exp-log2": lambda grade: np.exp2(grade) - 1,
}
PARAMETERS: Mapping[str, Parameter] = {
    "cutoff": Parameter(None, "a whole number from 1", lambda value: _is_whole(value) and value >= 1),
    "rel": Parameter(None, "a number above 0", lambda value: _is_number(value) and 0 < value < np.inf),
    "dcg": Parameter("log2", f"one of {quoted(GAINS)}", lambda value: isinstance(value, str) and value in GAINS),
    "gains": Parameter({}, "the gains of grades, such as {1: 1, 2: 5}", _is_gains),
    "p": Parameter(0.8, "a number between 0 and 1", lambda value: _is_number(value) and 0 < value < 1),
    "beta": Parameter(1.0, "a number above 0", lambda value: _is_number(value) and 0 < value < np.inf),
    "max_rel": Parameter(4, "the highest grade, above 0", lambda value: _is_number(value) and 0 < value < 1_000),
    "judged_only": Parameter(False, "True or False", lambda value: isinstance(value, bool)),
}


def _relevant(measure: Measure, worth: Floats, judged: Flags, level: float) -> Floats:
    """Return 1 for labels that are relevant (K)."""
    return (worth >= measure.level(level)).astype(float)


def _graded(measure: Measure, worth: Floats, judged: Flags, level: float) -> Floats:
    """Return the gains of nDCG (K)."""
    gains = measure.parameters["gains"]
    grade = np.array([gains.get(each, each) for each in worth.tolist()], float)
    return GAINS[measure.parameters["dcg"]](np.maximum(grade, 0.0))


def _stops(measure: Measure, worth: Floats, judged: Flags, level: float) -> Floats:
    """Return the chance that a user of ERR stops at a document (K)."""
    most = measure.parameters["max_rel"]
    if worth.max() > most:
        raise UsageError(
            f"{measure.name} is for grades up to {most:g}, but there is {worth.max():g}: write "
            f"ERR(max_rel={worth.max():g})"
        )
    stops: Floats = GAINS["exp-log2"](np.maximum(worth, 0.0)) / 2.0**most
    return stops


def _judged(measure: Measure, worth: Floats, judged: Flags, level: float) -> Floats:
    """Return 1 for labels that somebody gave (K)."""
    return judged.astype(float)


def _pooled(measure: Measure, worth: Floats, judged: Flags, level: float) -> Floats:
    """Return 1 for relevant labels, 0 for others, -1 for negative grades (pooled, not judged), -2 for no label (K)."""
    by_grade = np.where(worth < 0, -1.0, _relevant(measure, worth, judged, level))
    return np.where(judged, by_grade, -2.0)


def _by_log(n: int, measure: Measure) -> Floats:
    """Return one over log2(rank + 1)."""
    discount: Floats = 1 / np.log2(np.arange(n) + 2.0)
    return discount


def _by_rank(n: int, measure: Measure) -> Floats:
    """Return one over the rank."""
    reward: Floats = 1 / np.arange(1.0, n + 1)
    return reward


def _evenly(n: int, measure: Measure) -> Floats:
    """Return 1 for all ranks."""
    return np.ones(n)


def _by_persistence(n: int, measure: Measure) -> Floats:
    """Return the chance that a user of RBP looks at a rank last."""
    p = measure.parameters["p"]
    discount: Floats = (1 - p) * p ** np.arange(float(n))
    return discount


def weighted_sum(gains: Gains, order: Codes, ends: Codes | None, measure: Measure) -> Floats:
    """Return the discounted sum of gains as a share of what is possible (S)."""
    if ends is None:
        total = discounted_gain(gains.gain, order, gains.weight)
    else:
        total = tied_discounted_gain(gains.gain, order, ends, gains.weight)
    return divide(total, np.broadcast_to(measure.kind.possible(gains.total, order.size, measure), total.shape))


def cascaded_reward(gains: Gains, order: Codes, ends: Codes | None, measure: Measure) -> Floats:
    """Return the expected reward at the rank where the user stops (S)."""
    if ends is None:
        return cascade(gains.gain, order, gains.weight)
    return tied_cascade(gains.gain, order, ends, gains.weight)


def mean_precision(gains: Gains, order: Codes, ends: Codes | None, measure: Measure) -> Floats:
    """Return average precision (S)."""
    if ends is None:
        return average_precision(gains.gain, order, gains.total, measure.cut)
    return tied_average_precision(gains.gain, order, ends, gains.total, measure.cut)


def _precision_at_total(gains: Gains, order: Codes, ends: Codes | None, measure: Measure) -> Floats:
    """Return the precision after as many documents as are relevant (S)."""
    return tied_precision_at_total(
        gains.gain, order, np.arange(1, order.size + 1) if ends is None else ends, gains.total
    )


def _set_average_precision(gains: Gains, order: Codes, ends: Codes | None, measure: Measure) -> Floats:
    """Return the product of the precision and the recall of all returned documents (S)."""
    number = discounted_gain(gains.gain, order, gains.weight)
    return divide(number**2, gains.total * order.size)


def _binary_preference(gains: Gains, order: Codes, ends: Codes | None, measure: Measure) -> Floats:
    """Return Bpref (S)."""
    return binary_preference(gains.gain, order, gains.total)


def _inferred_average_precision(gains: Gains, order: Codes, ends: Codes | None, measure: Measure) -> Floats:
    """Return infAP (S)."""
    return inferred_average_precision(gains.gain, order, gains.total)


Possible = Callable[[Floats, int, "Measure"], Floats]  # of the total, the number of returned documents and the measure


class Kind(NamedTuple):
    """A family of measures."""

    name: str
    summary: str
    gain: Callable[[Measure, Floats, Flags, float], Floats]  # (K) of labels
    value: Callable[[Gains, Codes, Codes | None, Measure], Floats]  # (S)
    parameters: tuple[str, ...] = ("rel", "judged_only")
    cutoff: str = ""  # whether a cutoff is NEEDED or ALLOWED
    weight: Callable[[int, Measure], Floats] = _evenly  # (n) of ranks
    possible: Possible = lambda total, returned, measure: total  # what a sum is divided by
    fixed: bool = False  # whether what is possible does not depend on the labels
    ideal: bool = False  # whether the total is the discounted gain of the best order
    tied: bool = True  # whether there is an expectation over ties
    expected: bool = True  # whether there is a closed form of the expectation over labels
    needs_relevant: bool = True  # whether it is not defined for a topic without a relevant document
    aliases: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        """The name, with @k if a cutoff is needed."""
        return self.name + (self.cutoff if self.cutoff == NEEDED else "")


KINDS: Mapping[str, Kind] = {
    kind.name.lower(): kind
    for kind in (
        Kind(
            "MAP",
            "average precision: the mean of the precisions at the relevant documents",
            _relevant,
            mean_precision,
            cutoff=ALLOWED,
            aliases=("AP", "map_cut"),
        ),
        Kind(
            "MRR",
            "one over the rank of the first relevant document",
            _relevant,
            cascaded_reward,
            cutoff=ALLOWED,
            weight=_by_rank,
            aliases=("RR", "recip_rank"),
        ),
        Kind(
            "nDCG",
            "grades discounted by log2(rank + 1), as a share of the best order's; with dcg='exp-log2', 2^grade - 1",
            _graded,
            weighted_sum,
            ("dcg", "gains", "judged_only"),
            cutoff=ALLOWED,
            weight=_by_log,
            ideal=True,
            aliases=("ndcg_cut",),
        ),
        Kind(
            "P",
            "share of relevant documents among the first",
            _relevant,
            weighted_sum,
            cutoff=NEEDED,
            possible=lambda total, returned, measure: np.array(float(measure.cut)),
            fixed=True,
            needs_relevant=False,
            aliases=("Precision",),
        ),
        Kind(
            "R",
            "share of the relevant documents that are among the first",
            _relevant,
            weighted_sum,
            cutoff=NEEDED,
            aliases=("Recall",),
        ),
        Kind(
            "Rprec",
            "precision after as many documents as are relevant",
            _relevant,
            _precision_at_total,
            expected=False,
        ),
        Kind(
            "Success",
            "1 if a relevant document is among the first, else 0",
            _relevant,
            cascaded_reward,
            cutoff=NEEDED,
        ),
        Kind(
            "ERR",
            "expected reciprocal rank: users stop at a document with chance (2^grade - 1) / 2^max_rel (gdeval)",
            _stops,
            cascaded_reward,
            ("max_rel",),
            cutoff=ALLOWED,
            weight=_by_rank,
            needs_relevant=False,
        ),
        Kind(
            "RBP",
            "rank-biased precision: relevant documents, discounted by the persistence p",
            _relevant,
            weighted_sum,
            ("rel", "p"),
            cutoff=ALLOWED,
            weight=_by_persistence,
            possible=lambda total, returned, measure: np.array(1.0),
            fixed=True,
            needs_relevant=False,
        ),
        Kind(
            "Bpref",
            "how few of the judged irrelevant documents are above the relevant ones; unjudged ones are ignored",
            _pooled,
            _binary_preference,
            ("rel",),
            tied=False,
            expected=False,
        ),
        Kind(
            "infAP",
            "inferred average precision: unjudged documents of the pool (negative grades) are like the judged ones",
            _pooled,
            _inferred_average_precision,
            ("rel",),
            tied=False,
            expected=False,
        ),
        Kind(
            "Judged",
            "share of the first documents that were judged",
            _judged,
            weighted_sum,
            (),
            cutoff=ALLOWED,
            possible=lambda total, returned, measure: np.array(float(min(returned, measure.cut))),
            fixed=True,
            needs_relevant=False,
            expected=False,
        ),
        Kind(
            "SetP",
            "share of relevant documents among all returned ones",
            _relevant,
            weighted_sum,
            possible=lambda total, returned, measure: np.array(float(returned)),
            fixed=True,
            needs_relevant=False,
        ),
        Kind("SetR", "share of the relevant documents that are returned", _relevant, weighted_sum, ("rel",)),
        Kind(
            "SetF",
            "weighted harmonic mean of SetP and SetR, as in trec_eval",
            _relevant,
            weighted_sum,
            ("rel", "beta", "judged_only"),
            possible=lambda total, returned, measure: (
                (returned + measure.parameters["beta"] * total) / (1 + measure.parameters["beta"])
            ),
        ),
        Kind("SetAP", "product of SetP and SetR", _relevant, _set_average_precision, expected=False),
    )
}
ALIASES = {alias.lower(): name for name, kind in KINDS.items() for alias in kind.aliases}


class Measure(NamedTuple):
    """A measure: its kind, its cutoff and its parameters."""

    name: str
    kind: Kind
    cut: int  # documents that count
    rel: float | None  # the grade from which a document is relevant, None for the level of the evaluation
    parameters: Mapping[str, Any]  # all of the kind's, by name

    def level(self, level: float) -> float:
        """Return the grade from which a document is relevant."""
        return level if self.rel is None else self.rel

    def gains(self, worth: Floats, level: float, judged: Flags | None = None) -> Floats:
        """Return the gain of every label (K), from its grade and whether it is a label that somebody gave."""
        return self.kind.gain(self, worth, np.ones(worth.size, bool) if judged is None else judged, level)

    def weights(self, n: int) -> Floats:
        """Return the weights of the first n ranks that count."""
        return self.kind.weight(min(n, self.cut), self)


class Pool(NamedTuple):
    """One topic's documents: first the judged ones, then those that only runs return."""

    topic: str
    documents: Sequence[str]  # (D)
    orders: Sequence[Codes]  # for each run, the documents that it ranks, best first
    judged: int  # number of judged documents


def known_measures() -> str:
    """Return the names of all measures, for messages and help texts.

    >>> known_measures()[:56]
    'MAP, MRR, nDCG, ERR, RBP, Judged (also with @k), P@k, R@'
    """
    names = {
        cutoff: ", ".join(kind.form for kind in KINDS.values() if kind.cutoff == cutoff)
        for cutoff in ("", ALLOWED, NEEDED)
    }
    return f"{names[ALLOWED]} (also with @k), {names[NEEDED]}, {names['']}"


SYNTAX = re.compile(r"\s*([a-z_]+)\s*(?:\(([^()]*)\))?\s*(?:@\s*([0-9]{1,9}))?\s*", re.IGNORECASE)
OUTSIDE = re.compile(r",(?![^(]*\))")  # commas that are not between parentheses


def parse_measure(measure: Any) -> Measure:
    """Return the measure with a name such as ``nDCG@10``, in upper or lower case, or a measure of ir_measures.

    >>> measure = parse_measure("rbp(rel=2, p=0.5)@10")
    >>> measure.name, measure.cut, measure.rel, measure.parameters["p"]
    ('RBP(rel=2,p=0.5)@10', 10, 2, 0.5)
    """
    text = str(measure)
    match = SYNTAX.fullmatch(text) if text.isascii() else None
    family, arguments, cut = match.groups() if match else (text, None, None)
    kind = KINDS.get(ALIASES.get(family.lower(), family.lower())) if match else None
    if kind is None:
        raise UsageError(f"there is no measure {quote(text)}{_near(family)}: measures are {known_measures()}")
    parameters = _arguments(text, kind, arguments or "")
    if cut is not None:
        parameters["cutoff"] = int(cut)
    return _measure(text, kind, parameters)


def _measure(text: str, kind: Kind, supplied: Mapping[str, Any]) -> Measure:
    """Return a measure with the supplied parameters."""
    names = (*kind.parameters, "cutoff") if kind.cutoff else kind.parameters
    for name, value in supplied.items():
        if name == "cutoff" and not kind.cutoff:
            raise UsageError(f"measure {quote(text)} has a cutoff: {kind.name} takes none")
        if name not in names:
            takes = f"the parameters of {kind.name} are {', '.join(names)}" if names else f"{kind.name} has none"
            raise UsageError(f"measure {quote(text)} has the parameter {quote(name)}: {takes}")
        if not PARAMETERS[name].allows(value):
            raise UsageError(
                f"measure {quote(text)} has the {'' if name == 'cutoff' else 'parameter '}{name} {value!r}: it is "
                f"{PARAMETERS[name].expects}"
            )
    if kind.cutoff == NEEDED and "cutoff" not in supplied:
        raise UsageError(f"measure {quote(text)} needs a cutoff, such as {kind.name}@10")
    settings = [f"{name}={_format_value(supplied[name])}" for name in kind.parameters if _differs(name, supplied)]
    name = (
        kind.name
        + (f"({','.join(settings)})" if settings else "")
        + (f"@{supplied['cutoff']}" if "cutoff" in supplied else "")
    )
    parameters = {each: supplied.get(each, PARAMETERS[each].default) for each in kind.parameters}
    return Measure(name, kind, supplied.get("cutoff", NO_CUTOFF), parameters.get("rel"), parameters)


def _differs(name: str, supplied: Mapping[str, Any]) -> bool:
    """Whether a parameter is supplied and is not the default."""
    return name in supplied and supplied[name] != PARAMETERS[name].default


def _format_value(value: Any) -> str:
    """Return a parameter as ir_measures writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{grade}:{gain}" for grade, gain in sorted(value.items())) + "}"
    return repr(value)


def _arguments(text: str, kind: Kind, arguments: str) -> dict[str, Any]:
    """Return the parameters of a measure, from text such as ``rel=2, p=0.5``."""
    try:
        call = ast.parse(f"measure({arguments})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        example = f"{kind.name}({kind.parameters[0]}=...)" if kind.parameters else kind.name
        raise UsageError(
            f"the parameters of measure {quote(text)} cannot be read: write name=value, such as {example}"
        ) from None


def _near(family: str) -> str:
    """Return a question with the name that is nearest."""
    names = {name: kind.form for name, kind in KINDS.items()} | {
        name: KINDS[kind].form for name, kind in ALIASES.items()
    }
    near = get_close_matches(re.split(r"[@(]", family.strip().lower())[0], names, n=1)
    return f" (did you mean {names[near[0]]}?)" if near else ""


def parse_measures(names: Any) -> list[Measure]:
    """Return the named measures, from a list or separated by commas, each once."""
    listed = [part for part in OUTSIDE.split(names) if part.strip()] if isinstance(names, str) else names
    listed = list(listed) if isinstance(listed, Sequence) else [listed]
    if not listed:
        raise UsageError(f"no measure is named: measures are {known_measures()}")
    return list({each.name: each for each in map(parse_measure, listed)}.values())


def check_level(level: float) -> float:
    """Return the grade from which a document is relevant; refuse 0, the grade of documents that nobody judged."""
    if not 0 < level < np.inf:
        raise UsageError(f"level {level:g} is not above 0, the grade of a document that nobody judged")
    return level


def pool_documents(topic: str, codes: Mapping[str, int], judged: Sequence[str], runs: Sequence[Sequence[str]]) -> Pool:
    """Return a topic's documents and the order of every run; ``codes`` holds the index of each judged document."""
    index, documents = dict(codes), list(judged)
    orders = []
    for ranked in runs:
        for document in ranked:
            if document not in index:
                index[document] = len(documents)
                documents.append(document)
        codes_of = [index[document] for document in ranked]
        orders.append(np.array(codes_of, np.int64))
        if len(set(codes_of)) < len(ranked):
            raise UsageError(f"a run has a document of topic {quote(topic)} twice, under two names")
    return Pool(topic, documents, orders, len(judged))


def values(
    orders: Sequence[Codes],
    code: Codes,
    worth: Floats,
    measures: Sequence[Measure],
    level: float = LEVEL,
    ends: Sequence[Codes] | None = None,
    unjudged: bool = False,
) -> Floats:
    """Return every run's value of every measure in every draw (R, M, S), from labels ``code`` (D, S) of one topic.

    With the ``ends`` of each run's ties, values are expected over the orders of tied documents. With ``unjudged``, the
    last label is that of documents that nobody judged.
    """
    count, judged = label_counts(code, worth.size), np.ones(worth.size, bool)
    judged[-1] = not unjudged
    value = np.zeros((len(orders), len(measures), code.shape[1]))
    matrices: dict[bytes, Floats] = {}  # measures with the same gains share them
    for m, measure in enumerate(measures):
        gain = measure.gains(worth, level, judged)
        weight, best = measure.weights(len(code)), np.maximum(gain, 0.0)
        key = gain.tobytes()
        if key not in matrices:
            matrices[key] = gains_of(code, gain)
        gains = Gains(matrices[key], ideal_gain(best, count, weight) if measure.kind.ideal else best @ count, weight)
        for r, order in enumerate(orders):
            ranked, tied = order, None if ends is None else ends[r]
            if measure.parameters.get("judged_only"):
                ranked, tied = only_judged(order, tied, (judged & (worth >= 0))[code[:, 0]])
            value[r, m] = measure.kind.value(gains, ranked, tied, measure)
    return value


def only_judged(order: Codes, ends: Codes | None, judged: Flags) -> tuple[Codes, Codes | None]:
    """Return the ranked documents that are judged (D), and the ends of their ties, as trec_eval -J."""
    is_judged = judged[order]
    if ends is not None:
        ends = np.setdiff1d(np.r_[0, np.cumsum(is_judged)][ends], 0)
    return order[is_judged], ends


def topic_values(
    score: Floats,
    grade: Floats,
    topic: Codes,
    documents: Sequence[str],
    measures: Sequence[Measure],
    level: float = LEVEL,
) -> tuple[Floats, int]:
    """Return every measure in every topic (M, T) that has documents, and how many topics have no relevant one.

    Documents have a score, a grade and the code of a topic (D). Those of a topic are ranked as in trec_eval: scores are
    compared as 32-bit floats, and equal ones are ordered by the name of the document, last first.
    """
    worth, code = np.unique(grade, return_inverse=True)
    by_name = np.empty(score.size, np.int64)
    by_name[sorted(range(score.size), key=documents.__getitem__)] = np.arange(score.size)
    order = np.lexsort((-by_name, -as_single(score), topic))
    bounds = np.flatnonzero(np.diff(topic[order], prepend=-1, append=-1))  # (T + 1)
    parts, barren = [], 0
    for begin, end in pairwise(bounds.tolist()):
        labels = code[order[begin:end], None].astype(np.uint16)
        parts.append(values([np.arange(end - begin)], labels, worth, measures, level)[0])  # (M, 1)
        barren += int(without_relevant(labels, worth, level)[0])
    return np.concatenate(parts, axis=1), barren


def without_relevant(code: Codes, worth: Floats, level: float = LEVEL) -> Flags:
    """Return in which draws no document of a topic is relevant (S)."""
    none: Flags = (worth >= level).astype(float) @ label_counts(code, worth.size) == 0
    return none
