"""The small files to try."""

import io

import polars as pl

from adjudge.learn.rerank_example import DOCUMENTS, FEATURES, JUDGES, TOPICS, example


def test_files_are_of_one_crowd():
    """And the same for the same seed."""
    files = example()
    assert files == example(0) != example(1)
    labels, features = (pl.read_csv(io.BytesIO(files[name])) for name in ("labels.csv", "features.csv"))
    assert features.columns == ["topic", "document", *FEATURES]
    assert (features.height, labels["judge"].n_unique()) == (TOPICS * DOCUMENTS, JUDGES)
    assert set(labels["item"]) == set(features["document"])
    assert len(files["truth.qrels"].splitlines()) == features.height == len(files["bm25.run"].splitlines())
