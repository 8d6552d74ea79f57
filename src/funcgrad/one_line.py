"""A formula or a number in one line, for a row of a map or a table."""

import re


def one_line(value: object, width: int = 90) -> str:
    """The text of a value in one line of at most ``width`` characters; definitions are separated by ``;``.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = x**2 + fg.exp(x**2)
    >>> one_line(fg.sqrt(y) + fg.cos(y))
    'let a = x**2; b = a + exp(a) in sqrt(b) + cos(b)'
    """
    # A definition after the first is indented by four spaces, what continues one by more.
    text = re.sub(r"\n    (?=\S)", "; ", repr(value).strip("‹›"))
    text = re.sub(r"\s*\n\s*", " ", text)
    return text if len(text) <= width else f"{text[: width - 1]}…"
