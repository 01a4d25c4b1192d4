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
    from adjudge.data.datasets import dataset
    from adjudge.data.judgments import Judgments
    from adjudge.data.panel import Panel
    from adjudge.data.read import read
    from adjudge.data.scale import Scale
    from adjudge.data.simulate import simulate
    from adjudge.diagnostics.ask import Questions as Questions
    from adjudge.diagnostics.ask import ask
    from adjudge.diagnostics.collusion import Collusion as Collusion
    from adjudge.diagnostics.collusion import collusion
    from adjudge.diagnostics.confusions import Confusions as Confusions
    from adjudge.diagnostics.confusions import confusions
    from adjudge.diagnostics.control_chart import ControlChart as ControlChart
    from adjudge.diagnostics.control_chart import control_chart
    from adjudge.diagnostics.drift import Drift as Drift
    from adjudge.diagnostics.drift import drift
    from adjudge.diagnostics.gold_accuracy import GoldAccuracy as GoldAccuracy
    from adjudge.diagnostics.gold_accuracy import gold_accuracy
    from adjudge.diagnostics.judges import Card as Card
    from adjudge.diagnostics.judges import Cards as Cards
    from adjudge.diagnostics.judges import Judges as Judges
    from adjudge.diagnostics.judges import judges
    from adjudge.diagnostics.monitor import Monitoring as Monitoring
    from adjudge.diagnostics.monitor import monitor
    from adjudge.diagnostics.new_work import NewWork as NewWork
    from adjudge.diagnostics.new_work import new_work
    from adjudge.diagnostics.panel import PanelAnalysis as PanelAnalysis
    from adjudge.diagnostics.panel import panel
    from adjudge.diagnostics.plan import Plan as Plan
    from adjudge.diagnostics.plan import plan
    from adjudge.diagnostics.second_looks import SecondLooks as SecondLooks
    from adjudge.diagnostics.second_looks import second_looks
    from adjudge.diagnostics.streaks import Streaks as Streaks
    from adjudge.diagnostics.streaks import streaks
    from adjudge.diagnostics.tutor import Tutoring as Tutoring
    from adjudge.diagnostics.tutor import tutor
    from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, MissingExtra, UsageError
    from adjudge.evaluation.certify import Certificate as Certificate
    from adjudge.evaluation.certify import audit, certify
    from adjudge.evaluation.evaluate import Evaluation as Evaluation
    from adjudge.evaluation.evaluate import evaluate
    from adjudge.evaluation.rate import Rates as Rates
    from adjudge.evaluation.rate import rate
    from adjudge.inference.chains import Draws as Draws
    from adjudge.inference.chains import Run
    from adjudge.inference.fit import fit
    from adjudge.inference.model import MODELS
    from adjudge.inference.params import Params as Params
    from adjudge.inference.params import Prior
    from adjudge.inference.predict import predict
    from adjudge.inference.result import Fit
    from adjudge.inference.save import load, save
    from adjudge.inference.select import Choice as Choice
    from adjudge.inference.select import HeldOut as HeldOut
    from adjudge.inference.select import choose, held_out
    from adjudge.inference.update import update
    from adjudge.learn import rerank
    from adjudge.learn.features import RunFeatures as RunFeatures
    from adjudge.learn.features import features
    from adjudge.learn.judge_again import JudgeAgain as JudgeAgain
    from adjudge.learn.lambdamart import LambdaMART
    from adjudge.learn.posterior_weights import posterior_weights, soft_labels
    from adjudge.learn.ranker import load_ranker
    from adjudge.learn.ranksvm import RankSVM
    from adjudge.learn.rerank import Trained as Trained
    from adjudge.learn.search import Index as Index
    from adjudge.learn.search import load_index, search
    from adjudge.learn.weights import Weights as Weights
    from adjudge.learn.weights import weights
    from adjudge.metrics.agreement import Agreement as Agreement
    from adjudge.metrics.agreement import agreement
    from adjudge.metrics.checks import ModelCheck as ModelCheck
    from adjudge.metrics.checks import check
    from adjudge.metrics.compare import Comparison as Comparison
    from adjudge.metrics.compare import compare
    from adjudge.metrics.draws import to_arviz
    from adjudge.metrics.labels import Scores as Scores
    from adjudge.metrics.score import RunScores as RunScores
    from adjudge.metrics.score import score
    from adjudge.models.multilabel import MultilabelFit as MultilabelFit
    from adjudge.models.multilabel import multilabel
    from adjudge.models.ranking.rank import Ranking as Ranking
    from adjudge.models.ranking.rank import rank
    from adjudge.models.scores import ScoreFit as ScoreFit
    from adjudge.models.scores import scores
    from adjudge.reports.report import Report as Report
    from adjudge.reports.report import report


HOMES = {  # the module of each name, which is imported when the name is first used
    "adjudge.errors": ("AdjudgeError", "AdjudgeWarning", "InputError", "MissingExtra", "UsageError"),
    "adjudge.diagnostics.ask": ("Questions", "ask"),
    "adjudge.diagnostics.confusions": ("Confusions", "confusions"),
    "adjudge.diagnostics.second_looks": ("SecondLooks", "second_looks"),
    "adjudge.diagnostics.control_chart": ("ControlChart", "control_chart"),
    "adjudge.diagnostics.collusion": ("Collusion", "collusion"),
    "adjudge.diagnostics.drift": ("Drift", "drift"),
    "adjudge.diagnostics.judges": ("Card", "Cards", "Judges", "judges"),
    "adjudge.diagnostics.gold_accuracy": ("GoldAccuracy", "gold_accuracy"),
    "adjudge.diagnostics.monitor": ("Monitoring", "monitor"),
    "adjudge.diagnostics.new_work": ("NewWork", "new_work"),
    "adjudge.diagnostics.panel": ("PanelAnalysis", "panel"),
    "adjudge.diagnostics.plan": ("Plan", "plan"),
    "adjudge.diagnostics.streaks": ("Streaks", "streaks"),
    "adjudge.diagnostics.tutor": ("Tutoring", "tutor"),
    "adjudge.data.datasets": ("dataset",),
    "adjudge.data.read": ("read",),
    "adjudge.data.scale": ("Scale",),
    "adjudge.data.simulate": ("simulate",),
    "adjudge.data.judgments": ("Judgments",),
    "adjudge.data.panel": ("Panel",),
    "adjudge.learn.features": ("RunFeatures", "features"),
    "adjudge.learn.judge_again": ("JudgeAgain",),
    "adjudge.learn.lambdamart": ("LambdaMART",),
    "adjudge.learn.posterior_weights": ("posterior_weights", "soft_labels"),
    "adjudge.learn.ranksvm": ("RankSVM",),
    "adjudge.learn.rerank": ("Trained",),
    "adjudge.learn.search": ("Index", "load_index", "search"),
    "adjudge.learn.ranker": ("load_ranker",),
    "adjudge.learn.weights": ("Weights", "weights"),
    "adjudge.inference.params": ("Params", "Prior"),
    "adjudge.inference.chains": ("Draws", "Run"),
    "adjudge.inference.fit": ("fit",),
    "adjudge.inference.select": ("Choice", "HeldOut", "choose", "held_out"),
    "adjudge.inference.predict": ("predict",),
    "adjudge.models.multilabel": ("MultilabelFit", "multilabel"),
    "adjudge.models.ranking.rank": ("Ranking", "rank"),
    "adjudge.models.scores": ("ScoreFit", "scores"),
    "adjudge.inference.result": ("Fit",),
    "adjudge.inference.model": ("MODELS",),
    "adjudge.inference.save": ("load", "save"),
    "adjudge.inference.update": ("update",),
    "adjudge.reports.report": ("Report", "report"),
    "adjudge.metrics.agreement": ("Agreement", "agreement"),
    "adjudge.metrics.compare": ("Comparison", "compare"),
    "adjudge.metrics.checks": ("ModelCheck", "check"),
    "adjudge.metrics.draws": ("to_arviz",),
    "adjudge.metrics.labels": ("Scores",),
    "adjudge.metrics.score": ("RunScores", "score"),
    "adjudge.evaluation.certify": ("Certificate", "audit", "certify"),
    "adjudge.evaluation.evaluate": ("Evaluation", "evaluate"),
    "adjudge.evaluation.rate": ("Rates", "rate"),
}
MODULES = {"rerank": "adjudge.learn.rerank"}  # names that are modules: adjudge.rerank.train, .apply and .again

__version__ = "0.1.0"
__all__ = [  # what users write; the classes of results are names of the package too
    "MODELS",
    "AdjudgeError",
    "AdjudgeWarning",
    "Fit",
    "InputError",
    "Judgments",
    "LambdaMART",
    "MissingExtra",
    "Panel",
    "Prior",
    "RankSVM",
    "Run",
    "Scale",
    "UsageError",
    "agreement",
    "ask",
    "audit",
    "certify",
    "check",
    "choose",
    "collusion",
    "compare",
    "confusions",
    "control_chart",
    "dataset",
    "drift",
    "evaluate",
    "features",
    "fit",
    "gold_accuracy",
    "held_out",
    "judges",
    "load",
    "load_index",
    "load_ranker",
    "monitor",
    "multilabel",
    "new_work",
    "panel",
    "plan",
    "posterior_weights",
    "predict",
    "rank",
    "rate",
    "read",
    "report",
    "rerank",
    "save",
    "score",
    "scores",
    "search",
    "second_looks",
    "simulate",
    "soft_labels",
    "streaks",
    "to_arviz",
    "tutor",
    "update",
    "weights",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name in MODULES:
        return import_module(MODULES[name])
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'adjudge' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the names that users write."""
    return [*__all__, "__version__"]
