"""Text that prints itself: what the functions of `funcgrad.show` return at a prompt."""


class PrintedText(str):
    """A `str` whose repr is the text, so that a prompt, a notebook and a doctest show its lines.

    >>> PrintedText("two\\nlines")
    two
    lines
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
