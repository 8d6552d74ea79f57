"""Random functions in which transforms stand inside each other and capture values around them, as text."""

import random

SCALAR, VECTOR, MATRIX = "s", "v", "m"
Named = list[tuple[str, str]]
"""Expressions that may be read, each with its type."""

ENTRYWISE = ("np.sin({})", "np.cos({})", "np.tanh({})", "np.exp(-{}**2)", "{}**2", "-{}")
ENTRYWISE += ("np.sqrt(1.0 + {}**2)", "1.0/(1.0 + {}**2)", "np.tanh({})**3")
NUMBERS = ("0.5", "-0.7", "2.0", "k[0]", "k[1]")
"""Numbers in the text; ``k`` is a global list of numbers, which change from call to call."""

MIXED = {
    SCALAR: ("np.sum({v})", "np.sum({v}*{v})", "{v}[0]", "np.sum({m})", "{m}[0, -1]", "{v}[-1]"),
    VECTOR: ("{v}[::-1]", "np.cumsum({v})", "({m} @ {v})", "({v} @ {m})", "{m}[0]", "{m}[:, 0]"),
    MATRIX: ("np.outer({v}, {v})", "({m} @ {m})", "({m} + {v})", "{m}[::-1]", "({s}*{m})"),
}
RANK = {SCALAR: 0, VECTOR: 1, MATRIX: 2}
OF_RANK = (SCALAR, VECTOR, MATRIX)


class Nested:
    """One function ``f(x, v, m)`` of a number, a vector and a square matrix: the same for the same seed."""

    def __init__(self, seed: int, depth: int = 3) -> None:
        self.random, self.names = random.Random(seed), 0
        known = [("x", SCALAR), ("v", VECTOR), ("m", MATRIX)]
        body = self.block(known, depth, self.random.randint(1, 3), (SCALAR, VECTOR))
        self.source = "\n".join(["def f(x, v, m):", *_indented(body), ""])

    def name(self) -> str:
        self.names += 1
        return f"t{self.names}"

    def block(self, known: Named, depth: int, length: int, results: tuple[str, ...]) -> list[str]:
        """Lines of statements, and one that returns the results."""
        known, lines = list(known), []
        for _ in range(length):
            lines += self.statement(known, depth)
        items = ", ".join(self.expression(kind, known, 2) for kind in results)
        return [*lines, f"return {items}"]

    # -- expressions -----------------------------------------------------------------------------
    def expression(self, kind: str, known: Named, depth: int) -> str:
        choose = self.random.choice
        own = [text for text, is_kind in known if is_kind == kind]
        if depth == 0 or self.random.random() < 0.15:
            return choose([*own, *own, own[-1], *(NUMBERS if kind == SCALAR else ())])

        def inner(kind: str = kind) -> str:
            return self.expression(kind, known, depth - 1)

        way = self.random.randrange(10)
        if way < 3:
            return choose(ENTRYWISE).format(f"({inner()})")
        if way < 6:
            return f"({inner()} {choose('+-**')} {inner(choose([kind, SCALAR]))})"
        if way == 6:
            return f"np.maximum({inner()}, {inner(choose([kind, SCALAR]))})"
        if way == 7:
            return f"np.where({inner()} > {inner(SCALAR)}, {inner()}, {inner()})"
        text = choose(MIXED[kind])
        for part in (SCALAR, VECTOR, MATRIX):
            while f"{{{part}}}" in text:
                text = text.replace(f"{{{part}}}", f"({inner(part)})", 1)
        return text

    # -- functions -------------------------------------------------------------------------------
    def function(
        self, lines: list[str], known: Named, depth: int, kinds: list[str], *results: str
    ) -> str:
        """The name of a function of these arguments, which captures what is known; its lines are added."""
        name, parameters = self.name(), [self.name() for _ in kinds]
        inner = [*known, *list(zip(parameters, kinds, strict=True)) * 3]
        body = self.block(inner, depth - 1, self.random.randint(0, 2), results)
        if self.random.random() < 0.25 and kinds:
            asked = f"if {self.expression(SCALAR, inner, 1)} > {self.random.choice(NUMBERS)}:"
            body = [asked, *_indented(self.block(inner, depth - 1, 1, results)), *body]
        way = self.random.random()
        if way < 0.15:  # a method of an instance that holds a value
            body = [line.replace("2.0", "self.k") for line in body]
            body = [f"def m(self, {', '.join(parameters)}):", *_indented(body)]
            lines += [f"class {name}:", *_indented(["def __init__(self, k): self.k = k", *body])]
            return f"{name}({self.expression(SCALAR, known, 1)}).m"
        default = f", k{name}={self.expression(SCALAR, known, 1)}" if way < 0.3 else ""
        lines += [f"def {name}({', '.join(parameters)}{default}):", *_indented(body)]
        return name

    def arguments(self, kinds: list[str], known: Named) -> str:
        return ", ".join(self.expression(kind, known, 1) for kind in kinds)

    def statement(self, known: Named, depth: int) -> list[str]:
        """Lines that give a value a name, which is known from there on."""
        name, kind = self.name(), self.random.choice(OF_RANK)
        if depth == 0 or self.random.random() < 0.2:
            line = f"{name} = {self.expression(kind, known, 3)}"
            known.append((name, kind))
            return [line]
        return getattr(self, self.random.choice(WAYS))(name, kind, known, depth)

    def of_one(self, name: str, kind: str, known: Named, depth: int) -> list[str]:
        """Transforms of a function of one argument that returns a number."""
        lines: list[str] = []
        f = self.function(lines, known, depth, [kind], SCALAR)
        made = self.random.choice(OF_ONE)
        x, v = (self.expression(kind, known, 1) for _ in range(2))
        if made == "T.vjp({})":
            lines.append(f"{name} = T.vjp({f}, {x})[1]({self.expression(SCALAR, known, 1)})[0]")
        elif made == "T.hvp({})":
            lines.append(f"{name} = T.hvp({f}, ({x},), ({v},))")
        elif made == "T.hessian({})" and kind != MATRIX:
            known.append((name, OF_RANK[2 * RANK[kind]]))
            return [*lines, f"{name} = T.hessian({f})({x})"]
        elif made == "T.value_and_grad({})":
            lines += [f"{name}_value, {name} = {made.format(f)}({x})"]
            known.append((f"{name}_value", SCALAR))
        else:
            made = "T.grad({})" if made == "T.hessian({})" else made
            lines.append(f"{name} = {made.format(f)}({x})")
        known.append((name, kind))
        return lines

    def of_several(self, name: str, kind: str, known: Named, depth: int) -> list[str]:
        lines: list[str] = []
        kinds = [kind, self.random.choice(OF_RANK)]
        if self.random.random() < 0.5:
            f = self.function(lines, known, depth, kinds, SCALAR)
            nums = self.random.choice([(0, 1), (1, 0), (1,)])
            lines.append(f"{name} = T.grad({f}, argnums={nums})({self.arguments(kinds, known)})")
            known += [(f"{name}[{k}]", kinds[num]) for k, num in enumerate(nums)]
            return lines
        result = self.random.choice(OF_RANK)
        f = self.function(lines, known, depth, kinds, result)
        given, along = self.arguments(kinds, known), self.arguments(kinds, known)
        if self.random.random() < 0.5:
            lines.append(f"{name} = T.jvp({f}, ({given}), ({along}))")
        else:
            lines += [f"{name} = T.linearize({f}, {given})"]
            lines += [f"{name} = {name}[0], {name}[1]({along})"]
        known += [(f"{name}[0]", result), (f"{name}[1]", result)]
        return lines

    def of_vectors(self, name: str, kind: str, known: Named, depth: int) -> list[str]:
        """Jacobians of functions between vectors; maps over rows or columns, with values that all share."""
        lines: list[str] = []
        if kind == SCALAR:
            f = self.function(lines, known, depth, [VECTOR], VECTOR)
            made = self.random.choice(["jacobian", "jacfwd", "jacrev"])
            known.append((name, MATRIX))
            return [*lines, f"{name} = T.{made}({f})({self.expression(VECTOR, known[:-1], 1)})"]
        result = self.random.choice([SCALAR, VECTOR])
        kinds = [OF_RANK[RANK[kind] - 1], VECTOR]
        f = self.function(lines, known, depth, kinds, result)
        axes = self.random.choice([0, RANK[kind] - 1]), None
        out = 0 if result == SCALAR else self.random.choice([0, 1])
        mapped = f"T.vmap({f}, in_axes={axes}, out_axes={out})"
        lines.append(f"{name} = {mapped}({self.arguments([kind, VECTOR], known)})")
        known.append((name, OF_RANK[RANK[result] + 1]))
        return lines

    def of_control(self, name: str, kind: str, known: Named, depth: int) -> list[str]:
        lines: list[str] = []
        start, way = self.expression(kind, known, 1), self.random.randrange(5)
        if way == 0:
            f, g = (self.function(lines, known, depth, [kind], kind) for _ in range(2))
            asked = f"{self.expression(SCALAR, known, 1)} > {self.expression(SCALAR, known, 0)}"
            lines.append(f"{name} = T.cond({asked}, {f}, {g}, {start})")
        elif way == 1:
            f = self.function(lines, known, depth, [kind, SCALAR], kind, SCALAR)
            lines.append(
                f"{name}, {name}_all = T.scan({f}, {start}, {self.arguments(['v'], known)})"
            )
            known.append((f"{name}_all", VECTOR))
        elif way == 2:
            f = self.function(lines, known, depth, [SCALAR, kind], kind)
            lines.append(f"{name} = T.fori_loop(0, 2, lambda i, a: {f}(1.0*i, a), {start})")
        elif way == 3:
            f = self.function(lines, known, depth, [kind], kind)
            step = f"lambda q: (q[0] + 1, {f}(q[1]))"
            lines.append(f"{name} = T.while_loop(lambda q: q[0] < 2, {step}, (0, {start}))[1]")
        else:
            f, rule = self.function(lines, known, depth, [kind], kind), self.random.choice(RULES)
            lines.append(f"{name} = {rule.format(f)}({start})")
        known.append((name, kind))
        return lines


OF_ONE = ("T.grad({})", "T.jit(T.grad({}))", "T.grad(T.jit({}))", "T.grad(T.checkpoint({}))")
OF_ONE += ("T.jacfwd({})", "T.jacrev(T.checkpoint({}))", "T.vjp({})", "T.hvp({})")
OF_ONE += ("T.value_and_grad({})", "T.hessian({})")
WAYS = ("of_one", "of_one", "of_several", "of_vectors", "of_control", "of_control")
RULES = ("T.with_rule({}, 'jvp')", "T.with_rule({}, 'vjp')", "T.jit({})", "T.checkpoint({})")
RULES += ("T.stop_gradient",)


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
