"""Errors that are ``ValueError`` too: users of other libraries catch that."""

from adjudge.errors import InputError, UsageError


class DataValueError(InputError, ValueError):
    """The data are wrong."""


class ArgumentValueError(UsageError, ValueError):
    """An argument is wrong."""
