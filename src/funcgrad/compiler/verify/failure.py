"""The verifier's error, and the checks that raise it."""

from __future__ import annotations


class VerifyError(AssertionError):
    """A pass broke a program: the stage, the place in it, what was expected there, and what was found."""


def must_be(stage: str, where: str, what: str, expected: object, got: object) -> None:
    """Refuse a program where two things that must be equal are not.

    Raises:
        VerifyError: they differ.
    """
    if not expected == got:
        raise VerifyError(f"{stage}, {where}: expected {what} {expected}, but got {got}")


def must(stage: str, where: str, holds: object, expected: object, got: object) -> None:
    """Refuse a program where something that must hold does not.

    Raises:
        VerifyError: it does not hold.
    """
    if not holds:
        raise VerifyError(f"{stage}, {where}: expected {expected}, but got {got}")
