"""Every model by name: the built-in ones and those that other packages register.

A package registers models through the entry point group ``adjudge.models``; the value is a ``Model`` or a sequence of
them. The built-in models are registered in the same way (see ``pyproject.toml``), so that this module does not import
them. The command line, ``auto``, ``compare``, the documentation and the conformance tests all read ``MODELS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points

from adjudge.errors import UsageError, quoted
from adjudge.inference.model import Model

GROUP = "adjudge.models"
OWN = "adjudge"  # the entry point of the built-in models, which come first


class Registry(Mapping[str, Model]):
    """A read-only mapping from name to model, loaded when it is first used."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}

    def _load(self) -> dict[str, Model]:
        """Return all registered models; the first call imports the packages that define them."""
        if not self._models:
            found = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name != OWN, entry.name))
            models: dict[str, Model] = {}
            for entry in found:
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
