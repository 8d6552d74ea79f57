"""Random functions of a vector that branch on its values, as text: some paths and entries are NaN."""

import random

CONSTANTS = ("-0.5", "0.0", "0.4", "1.1")
FUNCTIONS = ("np.log({})", "np.sqrt({})", "np.arcsin({})", "{}**0.5", "1/{}", "{}**2", "np.sin({})")
FUNCTIONS += ("np.exp({})", "np.log1p({})", "{}*1.5")
MASKS = ("v > 0.3", "v > 0", "x > 0.2", "np.abs(v) < 1", "v < s", "np.isfinite(v)")
STORES = ("v[m] = v[m]*s", "v[m] *= s", "v[~m] += s", "v[m] = s", "v[m] = x[m]*v[m]")
WHOLE = ("v = v*s", "v = v + x", "v = v/np.sum(np.abs(v))", "v = np.cumsum(v)", "v = np.sort(v)")


class Branching:
    """One function ``f(x)`` of three numbers: its source is the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        body = self.block("    ", 0, self.random.randint(3, 6))
        self.source = "\n".join(
            ["def f(x):", "    v, s = x.copy(), x[0]", *body, "    return np.sum(v) + s", ""]
        )

    def block(self, indent: str, depth: int, length: int) -> list[str]:
        return [indent + line for _ in range(length) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kind = self.random.randrange(10)
        if kind < 3 and depth < 2:
            lines = [f"if {self.condition()}:", *self.inner(depth)]
            return [*lines, "else:", *self.inner(depth)] if self.random.random() < 0.6 else lines
        mask = f"m = {self.random.choice(MASKS)}"
        return self.random.choice(
            [
                [f"v = {self.function('v')}"],
                [f"s = {self.function(self.number())}"],
                [mask, self.random.choice([*STORES, f"v[m] = {self.function('v[m]')}"])],
                [f"v[{self.random.randrange(3)}] = {self.function(self.number())}"],
                [mask, f"s = s + np.sum({self.function('v[m]')})"],
                [mask, f"v = np.where(m, {self.function('v')}, v*s)"],
                [self.random.choice(WHOLE)],
            ]
        )

    def inner(self, depth: int) -> list[str]:
        return self.block("    ", depth + 1, self.random.randint(1, 2))

    def function(self, of: str) -> str:
        return self.random.choice(FUNCTIONS).format(of)

    def number(self) -> str:
        place = self.random.randrange(3)
        return self.random.choice([f"x[{place}]", "s", "np.sum(v)", f"v[{place}]", "1.7"])

    def condition(self) -> str:
        compared = f"{self.number()} > {self.random.choice(CONSTANTS)}"
        return self.random.choice([compared, "np.all(v > 0)", "np.any(v < 0)", "np.max(v) < 1.5"])
