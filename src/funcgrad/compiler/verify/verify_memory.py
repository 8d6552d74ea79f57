"""Verifies the memory of generated source by symbolic execution.

Every array is a buffer with a version, which each write makes anew. A name holds a *term*, what has been
computed, and the versions of the buffers that it is read from; a read of a name whose buffer holds another
value by then is refused. The terms that a text returns must be those of the plan, or of the steps, that it
was printed from: so nothing is read too late, written twice, or lost, in kernels as elsewhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.array_operators import OPERATOR_UFUNCS
from funcgrad.compiler.call_ir import NUMBER_FORMS, Call, Plan
from funcgrad.compiler.numpy.block_loop import Blocks, each_block
from funcgrad.compiler.numpy.numpy_codegen import HOLE, bindings, expression
from funcgrad.compiler.verify.failure import VerifyError, must, must_be
from funcgrad.compiler.verify.terms import Terms
from funcgrad.graph import ArrayType

UNWRITTEN = -1
"""The term of memory that nothing has written."""


class Buffer:
    """Memory: of an input, a constant, the pool, scratch, or this run's own; or a number, which has none."""

    __slots__ = ("kind", "term", "type", "version", "writes")

    def __init__(self, kind: str, type: Any = None, term: int = UNWRITTEN) -> None:
        self.kind, self.type, self.term = kind, type, term
        self.version = self.writes = 0


class Ref(NamedTuple):
    """A value as a name has it: its term, and where it stands."""

    term: int
    places: tuple[tuple[Buffer, int], ...]


def of(buffer: Buffer) -> Ref:
    """What stands in a buffer now."""
    return Ref(buffer.term, ((buffer, buffer.version),))


# -- array programs --------------------------------------------------------------------------------
_SPECIAL_METHODS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_OPERATORS = {
    node: OPERATOR_UFUNCS[f"__{name}__"][0].__name__ for node, name in _SPECIAL_METHODS.items()
}
"""The operation that each of Python's operators is."""
_COPIES = ("array", "present", *NUMBER_FORMS.values())
_EMPTY = ("empty", "aligned")
_VIEWS = ("reshape", "transpose")
_STORES = ("store_set", "store_add")
_NAME = re.compile(r"\b[a-z]\d+\b")


class _Call(NamedTuple):
    """What the plan says of the calls of a function: how many operands, and where the result is."""

    arity: int
    effect: str


def _arguments(call: ast.Call) -> list[Any]:
    """The arguments of a call, and in the place of a tuple of arrays these."""
    match call.args:
        case [ast.Tuple(elts=[ast.Name(), *_] as joined), *rest]:
            return [*joined, *rest]
    return call.args


Env = dict[str, Ref]
Outs = dict[str, tuple[str, Buffer, str]]


class Machine:
    """Runs the text of an array program on terms."""

    def __init__(self, plan: Plan, stage: str) -> None:
        self.plan, self.stage = plan, stage
        self.bound = bindings(plan)
        self.terms = Terms()
        self.calls: dict[str, _Call] = {}
        self.where = "text"
        self.results_alive: list[Buffer] = []

    def learn(self, plan: Plan) -> None:
        """What the plan says of each function; where calls differ, the least that is promised."""
        for call in plan.calls:
            if call.effect in ("source", "none"):
                continue
            node = ast.parse(self.formatted(call), mode="eval").body
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self.calls[node.func.id] = _Call(len(_arguments(node)), call.effect)

    @staticmethod
    def formatted(call: Call) -> str:
        names = [f"t{k}" for k in call.operands]
        return expression(call, names)

    def expected(self, plan: Plan) -> list[int]:
        """The term of each call of a plan without blocks."""
        env: Env = {}
        for i, call in enumerate(plan.calls):
            if call.effect == "source":
                term = self.terms.make("source", call.function.symbol)
            else:
                node = ast.parse(self.formatted(call), mode="eval").body
                term = self.value(node, env).term
            self.terms.types.setdefault(term, call.type)
            env[f"t{i}"] = of(Buffer("own", call.type, term))
        return [env[f"t{i}"].term for i in range(len(plan.calls))]

    def fail(self, holds: object, expected: object, got: object) -> None:
        must(self.stage, self.where, holds, expected, got)

    # -- values -----------------------------------------------------------------------------------
    def read(self, ref: Ref, name: str) -> Ref:
        self.fail(ref.term != UNWRITTEN, "a value", f"{name!r}, which nothing has written")
        stale = [b for b, version in ref.places if b.version != version]
        if stale:
            now = self.terms.show(stale[0].term)
            self.fail(False, f"{name!r} as {self.terms.show(ref.term)}", f"{now} in its memory")
        return ref

    def new(self, term: int, *places: tuple[Buffer, int]) -> Ref:
        type = self.terms.types.get(term)
        buffer = Buffer("own", type, term)
        return Ref(term, (*of(buffer).places, *places))

    def value(self, node: Any, env: Env) -> Ref:
        match node:
            case ast.Name(id=name) if name in env:
                return self.read(env[name], name)
            case ast.Name(id=name) if name[0] in "ks" and name[1:].isdecimal():
                self.fail(name in self.bound, "a constant that is bound", name)
                return of(Buffer("constant", None, self.terms.make("source", f"k{name[1:]}")))
            case ast.Name(id=name):
                self.fail(False, "a value in every operand", f"{name!r}, which has none")
            case (
                ast.BinOp(left=left, op=op, right=right)
                | ast.Compare(left=left, ops=[op], comparators=[right])
            ):
                x, y = self.value(left, env), self.value(right, env)
                return self.new(self.terms.make(_OPERATORS[type(op)], x.term, y.term))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                p, x, y = [self.value(part, env) for part in (test, body, orelse)]
                return Ref(self.terms.make("where", p.term, x.term, y.term), x.places + y.places)
            case ast.Attribute(value=inner, attr="T"):
                x = self.value(inner, env)
                return Ref(self.terms.make("T", x.term), x.places)
            case ast.Subscript(value=inner, slice=index):
                x, text = self.value(inner, env), ast.unparse(index)
                if text == "()":
                    known = self.terms.types.get(x.term)
                    self.fail(known is None or known.shape == (), "a number", known)
                    return self.new(x.term)
                if text == "lo:hi":
                    return x
                return self.entries(x, index, env)
            case ast.Call():
                return self.call(node, env)
        raise VerifyError(
            f"{self.stage}, {self.where}: expected a value, but got {ast.unparse(node)}"
        )

    def entries(self, x: Ref, index: ast.expr, env: Env) -> Ref:
        """What an index names: new where index arrays have axes or give a number, else perhaps a view."""
        names = [part for part in ast.walk(index) if isinstance(part, ast.Name)]
        arrays = [self.value(name, env).term for name in names]
        term = self.terms.make("item", x.term, _NAME.sub("_", ast.unparse(index)), *arrays)
        made = self.terms.types.get(term)
        number = arrays and made is not None and not made.shape
        fresh = number or any([self.terms.types[array].shape for array in arrays])
        return self.new(term) if fresh else Ref(term, x.places)

    def call(self, node: Any, env: Env) -> Ref:
        """The value of a call, and of the array that it writes, if it is given one."""
        function, args = node.func, _arguments(node)
        if isinstance(function, ast.Attribute):
            return self.method(function.attr, function.value, args, node.keywords, env)
        name = function.id
        if name in _COPIES and name not in self.calls:
            return self.new(self.value(args[0], env).term)
        if name in _STORES:
            terms = [self.value(arg, env).term for arg in args[:-1]]
            index: Any = ast.parse(f"x[{args[-1].value}]", mode="eval").body
            return self.new(self.terms.make(name, *terms, ast.unparse(index.slice)))
        if name == "row_sum":
            return self.new(self.terms.make("add.reduce", self.value(args[0], env).term, "(0,)"))
        self.fail(name in self.calls, "a function of the plan", name)
        count, effect = self.calls[name]
        out = next((k.value for k in node.keywords if k.arg == "out"), None)
        if out is None and len(args) > count:
            out = args[count]
        given = [self.argument(arg, env) for arg in args[:count]]
        refs = [ref for ref in given if isinstance(ref, Ref)]
        parts = [ref.term if isinstance(ref, Ref) else ref for ref in given]
        term = self.terms.make(name, *parts)
        if out is not None:
            return self.write(out.id, term, refs, name, env)
        if effect in ("in_place_ok", "out_no_alias", "new"):
            return self.new(term)
        return self.new(term, *[place for ref in refs for place in ref.places])

    def argument(self, node: ast.expr, env: Env) -> Ref | str:
        if isinstance(node, ast.Name) and node.id[0] == "d" and node.id[1:].rstrip("s").isdecimal():
            return node.id
        if isinstance(node, ast.Tuple | ast.Constant):
            return ast.unparse(node)
        return self.value(node, env)

    def method(self, name: str, inner: Any, args: list[Any], keywords: list[Any], env: Env) -> Ref:
        if name == "reduce":
            x = self.value(args[0], env)
            term = self.reduced(ast.unparse(inner), x.term, ast.unparse(args[1]))
            out = next((k.value for k in keywords if k.arg == "out"), None)
            return self.new(term) if out is None else self.write(out.id, term, [x], "reduce", env)
        x = self.value(inner, env)
        if name == "copy":
            return self.new(x.term)
        self.fail(name in _VIEWS, f"a method among {_VIEWS}", name)
        # A block reshapes some rows, so that the first length is another there.
        shape = ast.unparse(args[0])
        shown = ast.unparse(ast.Tuple(args[0].elts[1:], ast.Load())) if name == "reshape" else shape
        first = [] if name != "reshape" else ["-1"] if args[0].elts else ["none"]
        return Ref(self.terms.make(name, x.term, *first, shown), x.places)

    def reduced(self, kind: str, term: int, axes: str) -> int:
        head, *rest = self.terms.made[term]
        if head == "total":  # one for each block: those of all are the whole's
            whole = self.terms.made[rest[0]][0]
            fits = whole == f"{kind}.reduce" or (kind == "add" and whole in ("matmul", "dot"))
            self.fail(fits and axes == "(0,)", f"totals added up as {whole}", f"{kind} {axes}")
            whole_term: int = rest[0]
            return whole_term
        return self.terms.make(f"{kind}.reduce", term, axes)

    # -- writing ------------------------------------------------------------------------------------
    def write(self, name: str, term: int, refs: Sequence[Ref], function: str, env: Env) -> Ref:
        """A value written where an array of this name stands."""
        self.fail(name in env, "an array to write to", name)
        places = env[name].places
        self.fail(len(places) == 1, "an array of its own to write to", f"{name!r}, perhaps a view")
        buffer, _ = places[0]
        owned = buffer.kind in ("own", "pool", "out", "scratch")
        self.fail(owned, "memory of this run to write to", f"{name!r}, of {buffer.kind}")
        if any(b is buffer for ref in refs for b, _ in ref.places):
            entrywise = isinstance(self.bound.get(function), np.ufunc)
            fills = entrywise and self.calls[function].effect == "in_place_ok"
            self.fail(fills, f"{function} to write beside its operands", f"{name!r}, an operand")
        self.store(buffer, term)
        env[name] = of(buffer)
        return env[name]

    def stored(self, kind: str, to: Any, index: Any, value: Any, env: Env) -> None:
        """A store in place, into an array that this run has made."""
        base, v = self.value(to, env), self.value(value, env)
        names = [n for n in ast.walk(index) if isinstance(n, ast.Name)]
        names.sort(key=lambda n: (n.lineno, n.col_offset))
        arrays = [self.value(n, env) for n in names]
        for n in names:
            n.id = HOLE
        terms = [base.term, v.term, *[a.term for a in arrays]]
        term = self.terms.make(kind, *terms, ast.unparse(index))
        self.terms.types.setdefault(term, self.terms.types.get(base.term))  # type: ignore[arg-type]
        self.write(to.id, term, [v, *arrays], kind, env)

    def store(self, buffer: Buffer, term: int) -> None:
        type = self.terms.types.get(term)
        if type is not None and buffer.type is not None:
            row = (type.shape[1:], type.dtype)
            wanted = row if buffer.kind == "scratch" else tuple(type)
            must_be(self.stage, self.where, "memory of type", tuple(buffer.type), wanted)
        buffer.term = term
        buffer.version += 1
        buffer.writes += 1

    # -- statements -----------------------------------------------------------------------------------
    def body(
        self, function: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]
    ) -> list[int]:
        """The terms that ``body`` returns."""
        env = {}
        for i, arg in enumerate(function.args.args):
            term = self.terms.make("source", f"x{i}")
            env[arg.arg] = of(Buffer("input", self.terms.types.get(term), term))
        held: str | None = None
        returned: list[int] | None = None
        statements: list[Any] = list(function.body)
        for node in statements:
            self.where = f"body, line {node.lineno}: {ast.unparse(node)}"
            match node:
                case ast.If(
                    body=[ast.Assign(targets=[ast.Name(id=number)], value=ast.Subscript())]
                ):
                    term = env[number].term  # an input as a number, which nothing writes to
                    env[number] = of(Buffer("number", self.terms.types.get(term), term))
                case ast.If():  # an input that is no array is made one
                    pass
                case ast.Delete(targets=targets):
                    for target in map(ast.unparse, targets):
                        self.fail(target in env, "a name to delete", target)
                        del env[target]
                case ast.Assign(
                    targets=[ast.Tuple(elts=names), ast.Name(id=held)],
                    value=ast.IfExp(orelse=ast.Tuple(elts=made)),
                ):
                    for name, empty in zip(map(ast.unparse, names), made, strict=True):
                        env[name] = of(Buffer("pool", self.empty_type(empty)))
                case ast.Assign(targets=[ast.Name(id="returned")], value=value):
                    returned = self.results(value, env)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if (
                    isinstance(value.func, ast.Name) and value.func.id in _EMPTY
                ):
                    env[name] = of(Buffer("own", self.empty_type(value)))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    env[name] = self.value(value, env)
                case ast.Expr(value=ast.Call(func=ast.Name(id="each_block")) as call):
                    self.group(call, functions, env)
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="append"), args=[ast.Name(id=given)])
                ):
                    self.fail(given == held, "the pool's arrays given back", given)
                    self.fail(returned is not None, "results made before", "the pool given back")
                case ast.Assign(targets=[ast.Subscript() as target], value=value):
                    self.stored("store_set", target.value, target.slice, value, env)
                case ast.AugAssign(target=ast.Subscript() as target, value=value):
                    self.stored("store_add", target.value, target.slice, value, env)
                case ast.Expr(value=ast.Call(func=ast.Name(id="add_at"), args=args)):
                    to, index, value = args
                    self.stored("store_add", to, getattr(index, "slice", index), value, env)
                case ast.Expr(value=ast.Call(func=ast.Name(id="copyto"), args=[to, source])):
                    ref = self.value(source, env)
                    self.write(ast.unparse(to), ref.term, [ref], "copyto", env)
                case ast.Expr(value=value):
                    self.value(value, env)
                case ast.Return(value=ast.Name(id="returned")) if returned is not None:
                    return returned
                case ast.Return(value=value):
                    return self.results(value, env)
        raise VerifyError(f"{self.stage}, {self.where}: expected a return, but got none")

    def empty_type(self, call: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
        return (ast.literal_eval(call.args[0]), self.bound[call.args[1].id])

    def results(self, value: Any, env: Env) -> list[int]:
        """The terms of what is returned, each in memory that nothing else has."""
        taken: set[int] = set()
        terms: list[int] = []
        for node in value.elts:
            ref = self.value(node, env)
            terms.append(ref.term)
            alone = len(ref.places) == 1 and ref.places[0][0].kind in ("own", "number")
            self.fail(alone, "a result in memory of its own", ast.unparse(node))
            buffer = ref.places[0][0]
            is_new = buffer.kind == "number" or id(buffer) not in taken
            self.fail(is_new, "results that share no memory", ast.unparse(node))
            taken.add(id(buffer))
            self.results_alive.append(buffer)
        return terms

    # -- blocks -----------------------------------------------------------------------------------------
    def group(self, call: Any, functions: Mapping[str, ast.FunctionDef], env: Env) -> None:
        """A call of `each_block`: its function runs once, on rows that stand for all."""
        name, how, *given = [arg.id for arg in call.args]
        function, blocks = functions[name], self.bound[how]
        check_tiles(blocks, each_block, f"{self.stage}, {how}")
        params = [arg.arg for arg in function.args.args][3:]
        inner: Env = {}
        outs: Outs = {}
        for param, arg in zip(params, given, strict=False):
            if param[0] == "o":
                ((buffer, _),) = env[arg].places
                self.fail(buffer.kind in ("own", "pool"), "memory of this run", arg)
                inner[param] = Ref(UNWRITTEN, of(buffer).places)
                kind, buffer.kind, buffer.writes = buffer.kind, "out", 0
                outs[param] = (arg, buffer, kind)
            else:
                inner[param] = self.read(env[arg], arg)
        rest = params[len(given) :]
        made = [*blocks.scratch, *[row for _, row in blocks.repeated]]
        must_be(self.stage, name, "scratch arrays", len(made), len(rest))
        for param, row in zip(rest, made, strict=True):
            inner[param] = of(Buffer("scratch", tuple(row)))
        for param, (k, _) in zip(rest[len(blocks.scratch) :], blocks.repeated, strict=True):
            inner[param] = of(Buffer("scratch", None, inner[params[k]].term))
        for node in function.body:
            self.where = f"{name}, line {node.lineno}: {ast.unparse(node)}"
            self.iteration(node, inner, outs, blocks)
        for arg, buffer, kind in outs.values():
            must_be(self.stage, name, f"times that {arg} is written", 1, buffer.writes)
            buffer.kind = kind
            env[arg] = of(buffer)

    def iteration(self, node: Any, env: Env, outs: Outs, blocks: Blocks) -> None:
        """A statement of a block."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as value):
                base, rows = value.value, ast.unparse(value.slice) == "lo:hi"
                if rows and isinstance(base, ast.Name) and base.id in outs:
                    env[name] = env[base.id]
                    return
                env[name] = self.value(value, env)
                if rows:
                    type = self.terms.types.get(env[name].term)
                    fits = type is None or type.shape[0] == blocks.length
                    self.fail(fits, f"{blocks.length} rows", type)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                env[name] = self.value(value, env)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=out), slice=i)], value=value):
                term, where = self.value(value, env).term, ast.unparse(i)
                self.fail(where in ("i", "lo:hi"), "all rows, or one total", where)
                if where == "i":
                    type = self.terms.types.get(term)
                    count = -(-blocks.length // blocks.rows)
                    whole = self.terms.make("total", term)
                    if type is not None:
                        self.terms.types[whole] = ArrayType((count, *type.shape), type.dtype)
                    term = whole
                self.store(outs[out][1], term)
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="copyto"), args=[ast.Name(id=to), source])
            ):
                ref = self.value(source, env)
                self.write(to, ref.term, [ref], "copyto", env)
            case ast.Expr(value=value):
                self.value(value, env)
            case _:
                self.fail(False, "a statement that is known", ast.unparse(node))


def check_memory(before: Plan, plan: Plan, text: str, stage: str = "memory") -> None:
    """The text of a plan computes what the plan ``before`` blocks does, and no value loses its memory."""
    machine = Machine(plan, stage)
    machine.learn(plan)
    machine.learn(before)
    expected = machine.expected(before)
    functions = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    got = machine.body(functions.get("body", functions["run"]), functions)
    wanted = [expected[i] for i in before.results]
    must_be(stage, "results", "as many as", len(wanted), len(got))
    for k, (a, b) in enumerate(zip(wanted, got, strict=True)):
        show = machine.terms.show
        must(stage, f"result {k}", a == b, show(a), show(b))


def check_tiles(blocks: Blocks, each_block: Callable[..., None], stage: str = "blocks") -> None:
    """The blocks are numbered from 0, and their rows are all rows, each once."""
    met: list[tuple[int, int, int]] = []

    def block(i: int, low: int, high: int) -> None:
        met.append((i, low, high))

    each_block(block, blocks._replace(scratch=(), repeated=(), spare=[]))
    count = -(-blocks.length // blocks.rows)
    numbers = sorted(i for i, _, _ in met)
    must_be(stage, "blocks", "numbers", list(range(count)), numbers)
    rows = sorted(row for _, low, high in met for row in range(low, high))
    must_be(stage, "blocks", "every row once,", list(range(blocks.length)), rows)
