"""``monitor``: who changed, copies or repeats one label, and how good judges are on gold and in new work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from adjudge.data.judgments import Judgments
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.collusion import Collusion, collusion
from adjudge.diagnostics.control_chart import ControlChart, control_chart
from adjudge.diagnostics.drift import Drift, drift
from adjudge.diagnostics.gold_accuracy import GoldAccuracy, gold_accuracy
from adjudge.diagnostics.new_work import NewWork, new_work
from adjudge.diagnostics.streaks import Streaks, streaks
from adjudge.diagnostics.times import NO_TIMES, time_problem
from adjudge.errors import UsageError, not_one_of
from adjudge.inference.fitted import as_fitted
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fitted

PARTS = ("drift", "chart", "streaks", "collusion", "gold", "new")
TIMED = ("drift", "chart", "streaks")


@dataclass(frozen=True, eq=False)
class Monitoring(NotebookView):
    """The results of monitoring. A part that could not be computed is ``None``, with the reason in ``reasons``."""

    drift: Drift | None = None
    chart: ControlChart | None = None
    streaks: Streaks | None = None
    collusion: Collusion | None = None
    gold: GoldAccuracy | None = None
    new: NewWork | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    kind: str = field(default="polars", repr=False)

    def __repr__(self) -> str:
        return f"Monitoring({', '.join(self.parts) or 'nothing'}; {len(self.reasons)} parts not available)"

    @property
    def parts(self) -> dict[str, Drift | ControlChart | Streaks | Collusion | GoldAccuracy | NewWork]:
        """The parts that were computed, by name."""
        return {name: part for name in PARTS if (part := getattr(self, name)) is not None}

    @property
    def table(self) -> Any:
        """A table with one row per part: its name, and its sentence or the reason why there is none."""
        lines = {name: part.sentence for name, part in self.parts.items()} | dict(self.reasons)
        names = [name for name in PARTS if name in lines]
        available = [name in self.parts for name in names]
        return frame({"part": names, "available": available, "text": [lines[name] for name in names]}, self.kind)


def monitor(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    *,
    gold: Any = None,
    new: Any = None,
    parts: Sequence[str] = PARTS,
) -> Monitoring:
    """Monitor the judges of a fit: who changed, copies or repeats one label, and how good new work is.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit. Drift, control charts and streaks
        need their times.
    gold : frame, path or mapping, optional
        Items whose truth is known. Default: the gold of the fit.
    new : frame, path or Judgments, optional
        New judgments, to be compared with what the fit expects of their judges.
    parts : sequence of str
        The parts to compute: drift, chart, streaks, collusion, gold, new.

    Returns
    -------
    Monitoring

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> result = monitor(adjudge.fit(judgments, "dawid-skene"), judgments)
    >>> result.collusion.sentence
    'No pair of judges agreed more than the model allows, of 10 pairs with at least 8 shared items.'
    >>> result.reasons["drift"]
    'the judgments have no times'

    """
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        raise UsageError(not_one_of("part", unknown[0], PARTS))
    record, table = read_fitted(fit, judgments)
    as_fitted(record, table)  # refuses judgments that the fit was not made from
    truths = _fit_gold(record) if gold is None else gold
    compute: Mapping[str, Callable[[], Any]] = {
        "drift": lambda: drift(record, table),
        "chart": lambda: control_chart(record, table),
        "streaks": lambda: streaks(record, table),
        "collusion": lambda: collusion(record, table),
        "gold": lambda: gold_accuracy(table, truths),
        "new": lambda: new_work(record, new),
    }
    reasons, results = _missing_inputs(table, truths, new), {}
    for name in parts:
        try:
            if name not in reasons:
                results[name] = compute[name]()
        except UsageError as error:  # the other parts may be defined
            reasons[name] = str(error)
    return Monitoring(**results, reasons={n: reasons[n] for n in parts if n in reasons}, kind=table.kind)


def _missing_inputs(judgments: Judgments, gold: Any, new: Any) -> dict[str, str]:
    """Return, by part, why it cannot be computed from these inputs."""
    reasons = dict.fromkeys(TIMED, NO_TIMES) if time_problem(judgments) == NO_TIMES else {}
    if gold is None:
        reasons["gold"] = "no truth is known: give gold"
    if new is None:
        reasons["new"] = "there are no new judgments: give new"
    return reasons


def _fit_gold(fit: Fit) -> dict[Any, Any] | None:
    """Return the gold that a fit used, by item; None if it used none."""
    if fit.gold is None or not (fit.gold >= 0).any():
        return None
    return {item: fit.scale.labels[k] for item, k in zip(fit.items.to_list(), fit.gold.tolist(), strict=True) if k >= 0}
