"""adjudge turns many imperfect judgments into decisions one can defend.

>>> import adjudge
>>> judgments = adjudge.dataset("anesthesia")
>>> fit = adjudge.fit(judgments, "dawid-skene")
>>> fit.judges.columns[:3]
['judge', 'judgments', 'accuracy']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, MissingExtra, UsageError
    from adjudge.judges.cards import Card, Cards, cards
    from adjudge.judges.chart import ControlChart, control_chart
    from adjudge.judges.collusion import Collusion, collusion
    from adjudge.judges.confusions import Confusions, confusions
    from adjudge.judges.drift import Drift, drift
    from adjudge.judges.items import SecondLooks, second_looks
    from adjudge.judges.monitor import Monitored, NewWork, monitored, new_work
    from adjudge.judges.streaks import Streaks, streaks
    from adjudge.judgments.datasets import dataset
    from adjudge.judgments.read import read
    from adjudge.judgments.scale import Scale
    from adjudge.judgments.simulate import simulate
    from adjudge.judgments.table import Judgments
    from adjudge.learn.judge_again import JudgeAgain, judge_again
    from adjudge.learn.lambdamart import LambdaMART
    from adjudge.learn.posterior import posterior_weights, soft_labels
    from adjudge.learn.ranksvm import RankSVM
    from adjudge.learn.saved_ranker import load_ranker
    from adjudge.learn.weights import Weights, weights
    from adjudge.models.base import Params
    from adjudge.models.chains import Draws, Run
    from adjudge.models.choose import Choice, choose
    from adjudge.models.fit import fit
    from adjudge.models.holdout import HeldOut, held_out
    from adjudge.models.predict import predict
    from adjudge.models.prior import Prior
    from adjudge.models.ranking import Ranking, rank
    from adjudge.models.record import Fit
    from adjudge.models.registry import MODELS
    from adjudge.models.saved import load
    from adjudge.models.update import update
    from adjudge.report.case import Case, case_of
    from adjudge.report.document import document
    from adjudge.report.gallery import chart
    from adjudge.score.agreement import Agreement, agreement
    from adjudge.score.compare import Comparison, compare
    from adjudge.score.labels import Scores, scores
    from adjudge.score.runs import RunScores, score_runs
    from adjudge.score.systems import Evaluation, evaluate

HOMES = {  # where each name lives; a room loads when something in it is first used
    "adjudge.errors": ("AdjudgeError", "AdjudgeWarning", "InputError", "MissingExtra", "UsageError"),
    "adjudge.judges.cards": ("Card", "Cards", "cards"),
    "adjudge.judges.confusions": ("Confusions", "confusions"),
    "adjudge.judges.items": ("SecondLooks", "second_looks"),
    "adjudge.judges.chart": ("ControlChart", "control_chart"),
    "adjudge.judges.collusion": ("Collusion", "collusion"),
    "adjudge.judges.drift": ("Drift", "drift"),
    "adjudge.judges.monitor": ("Monitored", "NewWork", "monitored", "new_work"),
    "adjudge.judges.streaks": ("Streaks", "streaks"),
    "adjudge.judgments.datasets": ("dataset",),
    "adjudge.judgments.read": ("read",),
    "adjudge.judgments.scale": ("Scale",),
    "adjudge.judgments.simulate": ("simulate",),
    "adjudge.judgments.table": ("Judgments",),
    "adjudge.learn.judge_again": ("JudgeAgain", "judge_again"),
    "adjudge.learn.lambdamart": ("LambdaMART",),
    "adjudge.learn.posterior": ("posterior_weights", "soft_labels"),
    "adjudge.learn.ranksvm": ("RankSVM",),
    "adjudge.learn.saved_ranker": ("load_ranker",),
    "adjudge.learn.weights": ("Weights", "weights"),
    "adjudge.models.base": ("Params",),
    "adjudge.models.chains": ("Draws", "Run"),
    "adjudge.models.choose": ("Choice", "choose"),
    "adjudge.models.fit": ("fit",),
    "adjudge.models.holdout": ("HeldOut", "held_out"),
    "adjudge.models.predict": ("predict",),
    "adjudge.models.prior": ("Prior",),
    "adjudge.models.ranking": ("Ranking", "rank"),
    "adjudge.models.record": ("Fit",),
    "adjudge.models.registry": ("MODELS",),
    "adjudge.models.saved": ("load",),
    "adjudge.models.update": ("update",),
    "adjudge.report.case": ("Case", "case_of"),
    "adjudge.report.document": ("document",),
    "adjudge.report.gallery": ("chart",),
    "adjudge.score.agreement": ("Agreement", "agreement"),
    "adjudge.score.compare": ("Comparison", "compare"),
    "adjudge.score.labels": ("Scores", "scores"),
    "adjudge.score.runs": ("RunScores", "score_runs"),
    "adjudge.score.systems": ("Evaluation", "evaluate"),
}

__version__ = "0.1.0"
__all__ = [
    "MODELS",
    "AdjudgeError",
    "AdjudgeWarning",
    "Agreement",
    "Card",
    "Cards",
    "Case",
    "Choice",
    "Collusion",
    "Comparison",
    "Confusions",
    "ControlChart",
    "Draws",
    "Drift",
    "Evaluation",
    "Fit",
    "HeldOut",
    "InputError",
    "JudgeAgain",
    "Judgments",
    "LambdaMART",
    "MissingExtra",
    "Monitored",
    "NewWork",
    "Params",
    "Prior",
    "RankSVM",
    "Ranking",
    "Run",
    "RunScores",
    "Scale",
    "Scores",
    "SecondLooks",
    "Streaks",
    "UsageError",
    "Weights",
    "agreement",
    "cards",
    "case_of",
    "chart",
    "choose",
    "collusion",
    "compare",
    "confusions",
    "control_chart",
    "dataset",
    "document",
    "drift",
    "evaluate",
    "fit",
    "held_out",
    "judge_again",
    "load",
    "load_ranker",
    "monitored",
    "new_work",
    "posterior_weights",
    "predict",
    "rank",
    "read",
    "score_runs",
    "scores",
    "second_looks",
    "simulate",
    "soft_labels",
    "streaks",
    "update",
    "weights",
]


def __getattr__(name: str) -> Any:
    """Load a name from its home when it is first asked for."""
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'adjudge' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
