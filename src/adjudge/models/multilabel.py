"""``multilabel``: items with several labels, as yes/no questions that share the judges.

For every label there is a question about every item: does it have the label? A judge who judged the item without giving
it the label said no. All questions are fitted together, so that a judge has one confusion matrix (how often they miss a
label, and how often they give one too many), with one prevalence per label. On simulated crowds this has a better log
loss than a fit for every label, and about as many sets that are right as a whole (``studies/benchmarks/scores.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.label_sets import LabelSets, read_label_sets
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError
from adjudge.inference.fit import AUTO, DEFAULT, fit
from adjudge.inference.model import model_named
from adjudge.inference.result import Fit


@dataclass(frozen=True, eq=False)
class MultilabelFit(NotebookView):
    """The probability of every label for every item, and the fit of all yes/no questions with its judges."""

    sets: LabelSets = field(repr=False)
    fit: Fit  # of the questions, called label_item, with labels as topics
    separator: str = "|"

    def __repr__(self) -> str:
        parts = (len(self.sets.items), "items"), (len(self.fit.judge_names), "judges"), (len(self.labels), "labels")
        return f"MultilabelFit({self.fit.model}: {', '.join(f'{n:,} {name}' for n, name in parts)}; {self.fit.stopped})"

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels."""
        return self.sets.labels

    @property
    def probability(self) -> Floats:
        """The probability of each label for each item (I, L)."""
        yes: Floats = self.fit.posterior[:, 1].reshape(len(self.labels), -1).T
        return yes

    @property
    def table(self) -> Any:
        """The table of items."""
        return self.items

    @property
    def items(self) -> Any:
        """A table with the labels of each item that are likelier than not, and the probability of every label."""
        return frame(self.item_columns(), self.sets.kind)

    @property
    def judges(self) -> Any:
        """A table of judges over all labels; ``adjudge.judges(result.fit, result.sets.judgments)`` has their cards."""
        return frame(self.judge_columns(), self.sets.kind)

    @property
    def prevalence(self) -> Any:
        """A table with the share of items that have each label."""
        return frame(self.label_columns(), self.sets.kind)

    def item_columns(self) -> dict[str, Any]:
        """Return the columns of ``items``."""
        p = self.probability
        chosen = [
            self.separator.join(name for name, yes in zip(self.labels, row, strict=True) if yes) for row in p > 0.5
        ]
        certain = np.maximum(p, 1 - p).prod(axis=1)
        judgments = np.diff(self.sets.judgments.start)[: len(self.sets.items)]
        columns = {"item": self.sets.items, "labels": chosen, "probability": certain, "judgments": judgments}
        return columns | {f"p_{name}": p[:, k] for k, name in enumerate(self.labels)}

    def judge_columns(self) -> dict[str, Any]:
        """Return the columns of ``judges``: those of the fit, with the number of yes/no answers."""
        return {"answers" if name == "judgments" else name: part for name, part in self.fit.judge_columns().items()}

    def label_columns(self) -> dict[str, Any]:
        """Return the columns of ``prevalence``."""
        label_share = self.sets.judgments.label.reshape(len(self.labels), -1).mean(axis=1)
        p = self.probability
        counts = (p > 0.5).sum(axis=0)
        return {"label": list(self.labels), "prevalence": p.mean(axis=0), "items": counts, "given": label_share}


def multilabel(
    judgments: Any,
    separator: str = "|",
    model: str | None = None,
    gold: Any = None,
    *,
    none: str | None = None,
    seed: int = 0,
    item: str | None = None,
    judge: str | None = None,
    label: str | None = None,
    topic: str | None = None,
    format: str | None = None,  # noqa: A002
) -> MultilabelFit:
    """Infer which labels every item has, from judgments that give several labels, written ``a|b``.

    Parameters
    ----------
    judgments
        A path or a frame with item, judge and label in every row. In a frame, labels may also be lists. An empty text
        is a judgment that no label fits.
    separator
        What stands between two labels.
    model
        A name of ``MODELS`` for two labels; by default ``"consensus"``.
    gold
        Items whose labels are known: a path or a frame with item and label, or a mapping from item to labels.
    none
        A text that means that no label fits, such as ``"none"``.
    seed
        The seed of all random numbers.
    item, judge, label, topic
        Names of columns, if they have other than the usual names.
    format
        The format of the file, if its name and content do not show it.

    Returns
    -------
    MultilabelFit
        With the tables ``items``, ``judges`` and ``prevalence``, and the ``fit`` of all yes/no questions.

    Examples
    --------
    >>> from polars import DataFrame
    >>> given = ["cat|dog", "cat|dog", "cat", "", "", "dog"]
    >>> table = {"item": list("aaabbb"), "judge": list("xyz") * 2, "label": given}
    >>> multilabel(DataFrame(table)).items["labels"].to_list()
    ['cat|dog', '']
    """
    name = model or DEFAULT
    if name == AUTO:
        raise UsageError("model 'auto' is not for several labels: name a model, or leave it out")
    prevalence = "topic" if model_named(name).prevalence.learned else "global"
    columns = {"item": item, "judge": judge, "label": label, "topic": topic}
    sets = read_label_sets(judgments, gold, separator=separator, none=none, format=format, **columns)
    gold_answers = sets.gold if (sets.gold >= 0).any() else None
    return MultilabelFit(sets, fit(sets.judgments, name, gold_answers, seed=seed, prevalence=prevalence), separator)
