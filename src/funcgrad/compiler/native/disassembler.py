"""The disassembler of bytecode (`funcgrad.compiler.native.bytecode`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def disassembled(
    code: Sequence[int], constants: Mapping[int, str], widths: Mapping[str, int], most: int = 40
) -> str:
    """The first instructions, one a line, as comments: m0, m1, ... are the registers.

    ``constants`` are the constants by their registers, and ``widths`` the VM's instructions.
    """
    names = list(widths)
    lines: list[str] = []
    at = 0
    while at < len(code) and len(lines) <= most:
        name, times = names[code[at]], code[at + 1]
        at += 2
        for _ in range(min(times, most + 1)):
            skipped = 1 if widths[name] else 2
            width = widths[name] or 2 + (2 if name == "terms" else 3) * code[at + 1]
            operands = [constants.get(k, f"m{k}") for k in code[at + skipped : at + width]]
            lines.append(f"# m{code[at]} = {_formula(name, operands)}")
            at += width
    return "\n".join([*lines[:most], "# …"] if len(lines) > most else lines)


_MOST_TERMS = 20


def _formula(name: str, operands: Sequence[str]) -> str:
    if name == "both":
        return f"softplus({operands[1]}), and {operands[0]} = sigmoid({operands[1]})"
    if name in ("terms", "signed"):
        return _sum(operands, 3 if name == "signed" else 2)
    text = name.format(*operands)
    return text[1:-1] if text.startswith("(") else text


def _sum(operands: Sequence[str], width: int) -> str:
    rows = [operands[k : k + width] for k in range(0, len(operands), width)]
    more = f" + … ({len(rows)} terms)" if len(rows) > _MOST_TERMS else ""
    rows = rows[:_MOST_TERMS]
    products = [x if y == "1.0" else f"{x}*{y}" for x, y, *_ in rows]
    signs = ["- " if row[2:] == ["-1.0"] else "+ " for row in rows]
    text = " ".join([sign + product for sign, product in zip(signs, products, strict=True)])
    return text.removeprefix("+ ") + more
