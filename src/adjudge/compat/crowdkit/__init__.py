"""The interface of crowd-kit, computed by adjudge.

>>> import pandas as pd
>>> from adjudge.compat.crowdkit import DawidSkene
>>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 1, 1]})
>>> DawidSkene(n_iter=100).fit_predict(table).to_dict()
{'a': 0, 'b': 1}

Constructors, ``fit``, ``fit_predict`` and the like, and attributes have the names and shapes of crowd-kit.
``crowdkit.aggregation`` is this package; ``crowdkit.metrics`` and ``crowdkit.postprocessing`` are modules of it.
``docs/how-to/other-libraries.md`` says what differs.
"""

from adjudge.errors import MissingExtra

try:
    import pandas as _pandas  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("pandas", "adjudge.compat.crowdkit") from error

from adjudge.compat.crowdkit.classification import GLAD, KOS, MACE, MMSR, DawidSkene, OneCoinDawidSkene
from adjudge.compat.crowdkit.embeddings import HRRASA, RASA, ClosestToAverage
from adjudge.compat.crowdkit.image_segmentation import SegmentationEM, SegmentationMajorityVote, SegmentationRASA
from adjudge.compat.crowdkit.multilabel import BinaryRelevance
from adjudge.compat.crowdkit.pairwise import BradleyTerry, NoisyBradleyTerry
from adjudge.compat.crowdkit.texts import ROVER, TextHRRASA, TextRASA
from adjudge.compat.crowdkit.votes import GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

__all__ = [
    "GLAD",
    "HRRASA",
    "KOS",
    "MACE",
    "MMSR",
    "RASA",
    "ROVER",
    "BinaryRelevance",
    "BradleyTerry",
    "ClosestToAverage",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "NoisyBradleyTerry",
    "OneCoinDawidSkene",
    "SegmentationEM",
    "SegmentationMajorityVote",
    "SegmentationRASA",
    "TextHRRASA",
    "TextRASA",
    "Wawa",
    "ZeroBasedSkill",
]
