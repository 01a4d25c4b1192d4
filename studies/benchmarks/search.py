"""Claim: a query takes a hundredth of the time of rank_bm25, with 10,000 and with 100,000 passages.

CPU seconds, each side in a new process, with the same terms: English stems without stop words. Passages are real
sentences of XQuAD (CC BY-SA 4.0); the beginning of one is joined to the end of another until there are enough. Queries
are its questions. The 20 best passages are returned; tokenising and stemming of the query is included. Times are the
median of five rounds. For adjudge, they are given for a run of 200 queries in one call, as in a first stage, and for
one query per call. bm25s is the library that computes our weights, used here directly. Memory is the growth of the
process while the index is built.

The Okapi variant of rank_bm25 is different: its idf is log((N - n + 1/2) / (n + 1/2)), replaced by a quarter of the
mean if negative, and its scores are k1 + 1 times as large. With Lucene's idf, its scores are ours times k1 + 1.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

from studies.benchmarks.claim import DATA, Claim, description, in_new_process

XQUAD = DATA / "xquad_sentences"
SIZES = (10_000, 100_000)
QUERIES = 200
SLOW = 20  # queries for rank_bm25, which is slow
PAIRS = 10_540  # as many as in paper 004

COMMON = """
import gc, json, sys, time
from adjudge.learn.text import Stems, terms
texts, queries = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
def timed(work, rounds):
    times = []
    for _ in range(rounds):
        began = time.process_time(); found = work(); times.append(time.process_time() - began)
    return sorted(times)[rounds // 2], found
def memory():
    gc.collect()
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024
"""
OURS = (
    COMMON
    + """
from adjudge.learn.search import Index
index = Index({"a": "one lamb", "b": "two"})
index.search({"q": "lamb"}), index.best("lamb")  # compiled
before = memory()
began = time.process_time(); index = Index(texts); made = time.process_time() - began
grown = memory() - before
batch, run = timed(lambda: index.search(queries), 5)
single, _ = timed(lambda: [index.best(text) for text in queries.values()], 5)
rows = {}
for topic, document, score in run.table.iter_rows(): rows.setdefault(topic, []).append((document, score))
print(json.dumps([made, grown, batch / len(queries), single / len(queries), rows]))
"""
)
RANK = (
    COMMON
    + """
import math
import numpy as np
from rank_bm25 import BM25Okapi
class Lucene(BM25Okapi):
    def _calc_idf(self, nd):
        for word, n in nd.items(): self.idf[word] = math.log(1 + (self.corpus_size - n + 0.5) / (n + 0.5))
slow = dict(list(queries.items())[: int(sys.argv[3])])
names, before = sorted(texts), memory()
began = time.process_time()
stems = Stems()
coded = [terms(texts[name], stems) for name in names]
index = BM25Okapi(coded, k1=1.2, b=0.75)
made, grown = time.process_time() - began, memory() - before
def best(index, text):
    score = index.get_scores(terms(text, stems))
    order = np.argsort(score)[::-1][:20]
    return [(names[n], float(score[n])) for n in order]
each, okapi = timed(lambda: {name: best(index, text) for name, text in slow.items()}, 5)
each /= len(slow)
index = Lucene(coded, k1=1.2, b=0.75)
lucene = {name: best(index, text) for name, text in slow.items()}
print(json.dumps([made, grown, each, okapi, lucene]))
"""
)
BM25S = (
    COMMON
    + """
import bm25s
names, before = sorted(texts), memory()
began = time.process_time()
stems = Stems()
index = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend=sys.argv[3])
index.index([terms(texts[name], stems) for name in names], show_progress=False)
made, grown = time.process_time() - began, memory() - before
index.retrieve([["lamb"]], k=20, show_progress=False)  # compiled
def search():
    return index.retrieve([terms(text, stems) for text in queries.values()], k=20, show_progress=False)
each, (found, score) = timed(search, 5)
each /= len(queries)
rows = {q: [(names[n], float(s)) for n, s in zip(found[i], score[i])] for i, q in enumerate(queries)}
print(json.dumps([made, grown, each, rows]))
"""
)
FEATURES = """
import json, sys, time
from adjudge.learn.features import pair_features
pairs, corpus = json.load(open(sys.argv[1]))
pairs, names, workers, cache = [tuple(p) for p in pairs], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4] or None
pair_features([("who had a lamb", "mary had a lamb")], names, corpus[:50])  # compiled, and the model read
wall, cpu = time.perf_counter(), time.process_time()
found = pair_features(pairs, names, corpus, workers, cache)
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, len(found.names), float(found.X.sum())]))
"""


def lines(name: str) -> list[list[str]]:
    """Return the rows of a file of the shared set."""
    path = XQUAD / name
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    return [line.split("\t") for line in content.decode().splitlines()]


def passages(size: int) -> dict[str, str]:
    """Return a number of passages: beginnings of real sentences joined to ends of others."""
    rng = np.random.default_rng(0)
    sentences = [text.split() for _, text in lines("passages.tsv.gz")]
    first, second = rng.integers(0, len(sentences), (2, size))
    halves = ((sentences[a], sentences[b]) for a, b in zip(first, second, strict=True))
    return {f"p{n:06}": " ".join([*a[: len(a) // 2], *b[len(b) // 2 :]]) for n, (a, b) in enumerate(halves)}


def search_times() -> tuple[Claim, Claim]:
    """Time all libraries, and compare their results."""
    queries = {f"q{row[0]}": row[1] for row in lines("questions.tsv")[:: len(lines("questions.tsv")) // QUERIES]}
    queries = dict(list(queries.items())[:QUERIES])
    timed, agreement = [], []
    with tempfile.TemporaryDirectory() as folder:
        query_file = Path(folder) / "queries.json"
        query_file.write_text(json.dumps(queries))
        for size in SIZES:
            passage_file = Path(folder) / "passages.json"
            passage_file.write_text(json.dumps(passages(size)))
            files = str(passage_file), str(query_file)
            ours = in_new_process(OURS, *files)
            rank = in_new_process(RANK, *files, str(SLOW))
            plain = in_new_process(BM25S, *files, "numpy")
            fast = in_new_process(BM25S, *files, "numba")
            sides = (
                ("rank_bm25", rank[0], rank[1], rank[2]),
                ("bm25s, numpy", plain[0], plain[1], plain[2]),
                ("bm25s, numba", fast[0], fast[1], fast[2]),
                ("adjudge, one query per call", ours[0], ours[1], ours[3]),
                (f"adjudge, {QUERIES} queries per call", ours[0], ours[1], ours[2]),
            )
            for name, index_seconds, grown, each in sides:
                ratio = "" if name == "rank_bm25" else f"{rank[2] / each:,.0f}x"
                goal = " (goal 100x)" if name.startswith("adjudge") else ""
                timed.append(
                    (f"{size:,}", name, f"{index_seconds:.1f}", f"{grown:.0f}", f"{1e3 * each:.3f}", ratio + goal)
                )
                print(" ".join(timed[-1]), file=sys.stderr)
            agreement += [
                (f"{size:,}", "rank_bm25 with Lucene's idf", *_agreement(ours[4], rank[4], 2.2)),
                (f"{size:,}", "rank_bm25 unchanged (Okapi's idf)", *_agreement(ours[4], rank[3], 2.2)),
                (f"{size:,}", "bm25s unchanged", *_agreement(ours[4], plain[3], 1.0)),
            ]
    versions = ", ".join(f"{package} {version(package)}" for package in ("bm25s", "rank-bm25", "snowballstemmer"))
    how = description(__doc__) + f" ({versions}.)"
    head = ("passages", "library", "indexing, CPU s", "memory, MB", "per query, CPU ms", "speed-up over rank_bm25")
    same = (
        f"The best 20 passages of {QUERIES} queries ({SLOW} queries for rank_bm25). "
        + " ".join(__doc__.split("\n\n")[2].split())
        + " Orders differ if scores are equal as 32-bit floats, because only adjudge fixes the order of ties."
    )
    columns = (
        "passages",
        "compared with",
        "queries with equal scores",
        "passages in common",
        "queries in the same order",
        "with score 0",
    )
    return Claim("Search", how, head, timed), Claim("Results", same, columns, agreement)


def _agreement(ours: dict[str, list], theirs: dict[str, list], scale: float) -> tuple[str, str, str, str]:
    """Return how far two libraries agree: scores, passages, their order, and passages with score 0."""
    scores = common = order = zero = total = 0
    for query, rows in theirs.items():
        their_rows = [(name, score / scale) for name, score in rows if score > 0]
        our_rows = ours.get(query, [])
        zero += len(their_rows) < len(rows)
        total += len(our_rows)
        common += len({name for name, _ in our_rows} & {name for name, _ in their_rows})
        order += [name for name, _ in our_rows] == [name for name, _ in their_rows]
        our_scores = dict(our_rows)
        close = len(our_rows) == len(their_rows) and np.allclose(
            [s for _, s in our_rows], [s for _, s in their_rows], rtol=1e-5
        )
        scores += close and all(
            np.isclose(our_scores[name], s, rtol=1e-5) for name, s in their_rows if name in our_scores
        )
    of = len(theirs)
    return f"{scores} of {of}", f"{common / max(total, 1):.1%}", f"{order} of {of}", f"{zero} of {of}"


def feature_times() -> Claim:
    """Time the features of as many pairs as in paper 004."""
    questions = {row[0]: row[1] for row in lines("questions.tsv")}
    texts = dict(lines("passages.tsv.gz"))
    pairs = [(questions[row[0]], texts[row[1]]) for row in lines("candidates.tsv.gz")[1 : PAIRS + 1]]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path, cache = Path(folder) / "pairs.json", str(Path(folder) / "kept")
        path.write_text(json.dumps([pairs, list(texts.values())]))
        sums = set()
        for title, workers, cache_folder in (
            ("all", 1, ""),
            ("all", 2, cache),
            ("all, from the cache", 2, cache),
        ):
            wall, cpu, count, total = in_new_process(FEATURES, str(path), json.dumps(None), str(workers), cache_folder)
            rows.append((title, f"{count}", f"{workers}", f"{wall:.1f}", f"{cpu:.1f}"))
            sums.add(total)
            print(" ".join(rows[-1]), file=sys.stderr)
        if len(sums) > 1:
            raise SystemExit(f"features depend on the number of workers: {sums}")
    how = (
        f"{PAIRS:,} pairs of questions and sentences of XQuAD, after compilation, with topic models fitted each time. "
        "One and two workers give the same numbers, and so does the cache. Goal: well under a minute on two cores."
    )
    return Claim("Features", how, ("features", "number", "workers", "wall s", "CPU s"), rows)


def measure() -> list[Claim]:
    """Measure search and features."""
    return [*search_times(), feature_times()]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))
