"""Verifies generated text: each name that it reads is bound, or assigned on every way that leads there."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from funcgrad.compiler.verify.failure import must

Names = frozenset[str] | None
_EVERYTHING: Names = None  # what is assigned where a statement is never reached


def check_bindings(text: str, bound: Iterable[str], stage: str = "text") -> None:
    """The text compiles, and each name in it is bound, or assigned on every way that leads there."""
    tree = ast.parse(text)
    compile(tree, "<checked>", "exec")
    found = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
    functions = {f.name for f in found}
    must(stage, "text", len(functions) == len(tree.body), "functions, each of its own name", text)
    for function in found:
        outer = {*bound, *functions, *dir(builtins)}
        own = {node.id for node in ast.walk(function) if _is_stored(node)}
        own |= {arg.arg for arg in function.args.args}
        _Names(stage, function.name, own, outer).block(
            function.body, frozenset(arg.arg for arg in function.args.args)
        )


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


class _Names:
    """Which locals are assigned for certain, statement by statement."""

    def __init__(self, stage: str, function: str, own: set[str], outer: set[str]) -> None:
        self.stage, self.function, self.own, self.outer = stage, function, own, outer

    def reads(self, node: ast.AST, have: frozenset[str]) -> None:
        # What a comprehension binds, it binds for itself.
        inner = {
            n.id
            for c in ast.walk(node)
            if isinstance(c, ast.comprehension)
            for n in ast.walk(c.target)
            if isinstance(n, ast.Name)
        }
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load | ast.Del):
                known = name.id in have or name.id in inner
                known = known or (name.id not in self.own and name.id in self.outer)
                where = f"{self.function}, line {name.lineno}"
                must(self.stage, where, known, "a name that has a value", f"{name.id!r}")

    def block(self, statements: Sequence[ast.stmt], have: Names) -> Names:
        for statement in statements:
            if have is None:
                return have
            have = self.statement(statement, have)
        return have

    def statement(self, node: ast.stmt, have: frozenset[str]) -> Names:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self.reads(test, have)
                return _both(self.block(body, have), self.block(orelse, have))
            case ast.For(target=target, iter=over, body=body):
                self.reads(over, have)
                self.block(body, have | _stored(target))
                return have
            case ast.While(test=test, body=body):
                self.reads(test, have)
                endless = isinstance(test, ast.Constant) and test.value is True
                after = self.block(body, have)
                return (after or have) if endless else have
            case ast.With(items=items, body=body):
                for item in items:
                    self.reads(item.context_expr, have)
                return self.block(body, have)
            case ast.Try(body=body, handlers=handlers):
                after = self.block(body, have)
                for handler in handlers:
                    after = _both(after, self.block(handler.body, have))
                return after
            case ast.Return() | ast.Raise():
                self.reads(node, have)
                return _EVERYTHING
            case ast.Break() | ast.Continue():
                return _EVERYTHING
            case ast.Delete(targets=targets):
                self.reads(node, have)
                return have - {
                    n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)
                }
            case ast.AugAssign(target=target):
                self.reads(ast.Expression(_as_read(target)), have)
        self.reads(node, have)
        return have | _stored(node)


def _as_read(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target  # what it is an item of is read


def _stored(node: ast.AST) -> frozenset[str]:
    stored = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    return frozenset([n.id for n in stored if isinstance(n.ctx, ast.Store)])


def _both(a: Names, b: Names) -> Names:
    return b if a is None else a if b is None else a & b
