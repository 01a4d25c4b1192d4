"""Small files to try: a crowd on documents of topics, features of these, a first run, and the truth."""

from __future__ import annotations

import numpy as np
import polars as pl

from adjudge.judgments.runs import read_run, run_text
from adjudge.judgments.simulate import simulate
from adjudge.judgments.write import table_text

TOPICS, DOCUMENTS, JUDGES = 30, 12, 15
FEATURES = {"bm25": 1.0, "overlap": 0.8, "match": 0.6, "length": 0.0}  # by how much each tells the truth


def example(seed: int = 0) -> dict[str, bytes]:
    """Return judgments, features, the run by the first feature, and the truth as qrels."""
    crowd = simulate("rerank", seed, topics=TOPICS, items=TOPICS * DOCUMENTS, judges=JUDGES, noise=0.2, gold=0)
    judgments, rng = crowd.judgments, np.random.default_rng(seed)
    assert judgments.topics is not None  # the design has them
    assert judgments.topic is not None
    topic, document = judgments.topics.gather(judgments.topic).cast(str), judgments.items.cast(str)
    head = {"topic": topic, "document": document}
    told = {name: (good * crowd.truth + rng.normal(size=topic.len())).round(4) for name, good in FEATURES.items()}
    said = {
        "item": document.gather(judgments.item()),
        "topic": topic.gather(judgments.item()),
        "judge": judgments.judges.gather(judgments.judge),
        "label": judgments.label.astype(np.int64),
    }
    first = read_run(pl.DataFrame({**head, "score": told["bm25"]}), "bm25")
    qrels = zip(topic.to_list(), document.to_list(), crowd.truth.tolist(), strict=True)
    return {
        "labels.csv": table_text(pl.DataFrame(said), "csv"),
        "features.csv": table_text(pl.DataFrame({**head, **told}), "csv"),
        "bm25.run": run_text(first).encode(),
        "truth.qrels": "".join(f"{t} 0 {d} {grade}\n" for t, d, grade in qrels).encode(),
    }
