"""A small fit with draws, shared with the tests of studies."""

from tests.studies.conftest import relevance, topics

__all__ = ["relevance", "topics"]
