"""Every model by name: the built-in ones and those that other packages register.

A package registers models through the entry point group ``adjudge.models``; the value is a ``Model`` or a sequence of
them. The built-in models are registered in the same way (see ``pyproject.toml``), so that this module does not import
them. The command line, ``auto``, ``compare``, the documentation and the conformance tests all read ``MODELS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points

from adjudge.data.scale import Scale
from adjudge.errors import UsageError, quoted
from adjudge.inference.components import ANY
from adjudge.inference.model import Model
from adjudge.inference.options import Options
from adjudge.inference.prior import refuse_no_mode

GROUP = "adjudge.models"
BUILT_IN = "adjudge"  # the entry point of the built-in models, which come first
EM_OPTIONS = ("tolerance", "iterations", "accelerate")
DEFAULTS = Options()


class Registry(Mapping[str, Model]):
    """A read-only mapping from name to model, loaded when it is first used."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}

    def _load(self) -> dict[str, Model]:
        """Return all registered models; the first call imports the packages that define them."""
        if not self._models:
            entries = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name != BUILT_IN, entry.name))
            models: dict[str, Model] = {}
            for entry in entries:
                value = entry.load()
                for model in (value,) if isinstance(value, Model) else value:
                    if model.name in models:
                        raise UsageError(
                            f"model '{model.name}' of package '{entry.name}' has the name of another model"
                        )
                    models[model.name] = model
            self._models = models
        return self._models

    def __getitem__(self, name: str) -> Model:
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())


MODELS: Mapping[str, Model] = Registry()


def model_named(name: str) -> Model:
    """Return a model by its name."""
    if name not in MODELS:
        raise UsageError(f"model '{name}' is not one of {quoted(MODELS, most=99)}")
    return MODELS[name]


def configure(model: Model, options: Options) -> Model:
    """Return the model with the prior and the prevalence of the options; refuse options that it does not have."""
    _refuse_inference(model, options)
    if options.prior is not None and model.with_prior is None:
        raise UsageError(
            f"model '{model.name}' has no prior; the models that have one are {_able(lambda other: other.with_prior)}"
        )
    if options.prior is not None and options.inference == "map":
        refuse_no_mode(options.prior)
    if options.prevalence == "topic" and not model.prevalence.learned:
        able = _able(lambda other: other.prevalence.learned)
        raise UsageError(f"model '{model.name}' learns no prevalence; models with one per topic are {able}")
    return model.variant(options.prior, options.prevalence)


def _refuse_inference(model: Model, options: Options) -> None:
    """Refuse an inference that a model does not have, options of EM for sampling, and the reverse."""
    if options.inference not in model.inferences:
        able = _able(lambda other: options.inference in other.inferences)
        raise UsageError(
            f"model '{model.name}' has no inference '{options.inference}'; the models that have it are {able}"
        )
    if options.inference != "gibbs":
        if options.run is not None:
            raise UsageError(
                f"chains, draws and the like are options of sampling, and '{model.name}' is fitted by EM; "
                f"sampled models are {_able(lambda other: other.sampler)}"
            )
        return
    if any(getattr(options, name) != getattr(DEFAULTS, name) for name in EM_OPTIONS):
        raise UsageError(
            f"{quoted(EM_OPTIONS)} are options of EM, and '{model.name}' is sampled: set chains and draws instead"
        )
    if options.start is not None:
        other = "; inference 'map' is EM" if "map" in model.inferences else ""
        raise UsageError(f"start {options.start!r} is an option of EM: chains start at the vote{other}")


def refuse_other_scales(model: Model, scale: Scale) -> None:
    """Refuse labels that a model cannot take, and say what to do."""
    if model.labels.accept(scale):
        return
    labels = quoted(scale.names)
    if model.labels.ordered:
        raise UsageError(
            f"model '{model.name}' needs ordered labels, and {labels} have no order: give it, lowest first, "
            "with --labels and --ordinal (labels= and ordinal=True of adjudge.read)"
        )
    raise UsageError(
        f"model '{model.name}' takes two labels, and there are {len(scale)}: {labels}; "
        f"models for more are {_able(lambda other: other.labels == ANY)}"
    )


def _able(condition: Callable[[Model], object]) -> str:
    """Return the names of the models that meet a condition, for a message."""
    return quoted((name for name, model in MODELS.items() if condition(model)), most=99)


def refuse_no_topics(options: Options, has_topics: bool) -> None:
    """Refuse a prevalence per topic for judgments without topics."""
    if options.prevalence == "topic" and not has_topics:
        raise UsageError(
            "prevalence 'topic' needs the topic of every item: name its column with --topic (topic= of adjudge.read)"
        )
