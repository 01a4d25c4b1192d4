"""The best passages of queries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adjudge.kernels.postings import best_passages


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_the_best_are_those_of_a_full_sort(seed, depth):
    """Scores of few values, so that ties are common; the later passage comes first."""
    rng = np.random.default_rng(seed)
    passages, terms = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    weight = rng.integers(0, 3, (terms, passages)) / 4  # 0: not there
    term, passage = np.nonzero(weight)
    start = np.searchsorted(term, np.arange(terms + 1))
    lengths = rng.integers(0, 4, 5)
    query, asked = np.cumsum([0, *lengths]), rng.integers(0, terms, lengths.sum())
    values = weight[term, passage].astype(np.float32)
    count, found, value = best_passages(start, passage.astype(np.int32), values, passages, query, asked, depth)
    for q in range(lengths.size):
        score = weight[asked[query[q] : query[q + 1]]].sum(axis=0)
        order = [d for d in sorted(range(passages), key=lambda d: (-score[d], -d)) if score[d] > 0][:depth]
        assert found[q, : count[q]].tolist() == order
        assert value[q, : count[q]].tolist() == score[order].tolist()
