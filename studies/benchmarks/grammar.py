"""Whether features of lemmas, parts of speech and names add to the others.

RankSVM with its defaults is trained on the truth, in five folds by question, with the default features and with those
of the group grammar as well. MRR and MAP are in percent, over the questions of all folds; ± is the standard error of
the difference over questions. CPU seconds are those of the features of all pairs, each text tagged once.
"""

from __future__ import annotations

import time

import numpy as np

from adjudge.arrays import Floats
from adjudge.learn.features import pair_features
from adjudge.learn.folds import fold_of, split
from adjudge.learn.grammar import GROUP
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.topic_scores import GroupScores, score_groups
from studies.benchmarks.claim import DATA, Claim, description, say
from studies.rerank.sets import Rows, read_rows

SETS = ("wikiqa_hard", "cranfield", "qa_wikiqa", "xquad_sentences")
HEAD = (
    "set",
    "questions",
    "MRR",
    "with grammar",
    "difference",
    "MAP",
    "with grammar",
    "difference",
    "CPU s, others",
    "CPU s",
)


def ranked(rows: Rows, X: Floats) -> GroupScores:
    """Return the measures of questions that were ranked by a model of the other folds."""
    score = np.zeros(len(X))
    for train, test in split(fold_of(rows.question)):
        ranker = RankSVM().fit(X[train], np.asarray(rows.truth, float)[train], groups=rows.question[train])
        score[test] = ranker.predict(X[test])
    return score_groups(score, rows.truth, rows.question, rows.document)


def measure() -> list[Claim]:
    """Return the table of all sets."""
    rows = []
    for name in SETS:
        began = time.process_time()
        data = read_rows(DATA, name, say)
        read = time.process_time()
        grammar = pair_features(data.pairs, GROUP, topics=data.question.tolist()).X
        seconds = read - began, time.process_time() - read
        before, after = ranked(data, data.X), ranked(data, np.hstack([data.X, grammar]))
        cells = [name, f"{before.group.size:,}"]
        for measure_name in ("MRR", "MAP"):
            without, with_grammar = 100 * before.values[measure_name], 100 * after.values[measure_name]
            gain = with_grammar - without
            error = gain.std(ddof=1) / np.sqrt(gain.size)
            cells += [f"{without.mean():.2f}", f"{with_grammar.mean():.2f}", f"{gain.mean():+.2f} ± {error:.2f}"]
        rows.append((*cells, *(f"{each:.0f}" for each in seconds)))
        say("   ".join(rows[-1]))
    return [Claim("Features of grammar", description(__doc__), HEAD, rows)]


if __name__ == "__main__":
    for claim in measure():
        print(claim.markdown())
