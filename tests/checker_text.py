"""Names in generated text, and what text on numbers computes, checked without running it."""

import ast
import builtins

from tests.checker import must, must_be

# -- names ---------------------------------------------------------------------------------------
_EVERYTHING = None  # what is assigned where a statement is never reached


def check_names(text, bound, stage="text"):
    """The text compiles, and each name in it is bound, or assigned on every way that leads there."""
    tree = ast.parse(text)
    compile(tree, "<checked>", "exec")
    functions = {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}
    must(stage, "text", len(functions) == len(tree.body), "functions, each of its own name", text)
    for function in tree.body:
        outer = {*bound, *functions, *dir(builtins)}
        own = {node.id for node in ast.walk(function) if _is_stored(node)}
        own |= {arg.arg for arg in function.args.args}
        _Names(stage, function.name, own, outer).block(
            function.body, frozenset(arg.arg for arg in function.args.args)
        )


def _is_stored(node):
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


class _Names:
    """Which locals are assigned for certain, statement by statement."""

    def __init__(self, stage, function, own, outer):
        self.stage, self.function, self.own, self.outer = stage, function, own, outer
        self.targets = []

    def reads(self, node, have):
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

    def block(self, statements, have):
        for statement in statements:
            if have is _EVERYTHING:
                return have
            have = self.statement(statement, have)
        return have

    def statement(self, node, have):
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


def _as_read(target):
    name = target.id if isinstance(target, ast.Name) else "_"
    return ast.copy_location(ast.Name(name, ast.Load()), target)


def _stored(node):
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _both(a, b):
    return b if a is _EVERYTHING else a if b is _EVERYTHING else a & b


# -- terms ---------------------------------------------------------------------------------------
class Terms:
    """What is computed, by number: equal computations have equal numbers, however often they are met."""

    def __init__(self):
        self.number, self.made, self.types = {}, [], {}

    def make(self, *parts):
        if parts not in self.number:
            self.number[parts] = len(self.made)
            self.made.append(parts)
        return self.number[parts]

    def show(self, term, depth=2):
        """A term as text, down to a depth."""
        head, *rest = self.made[term]
        inner = [
            p if not isinstance(p, int) else self.show(p, depth - 1) if depth else "…" for p in rest
        ]
        return f"{head}({', '.join(map(str, inner))})"


# -- programs on numbers -----------------------------------------------------------------------------
def check_scalar_text(flat, templates, text, stage="scalar"):
    """The text of a program on numbers computes its steps: each name is read for what it was given for."""
    terms, env = Terms(), {}
    for i, (step, template) in enumerate(zip(flat.steps, templates, strict=True)):
        if i < flat.inputs:
            env[f"t{i}"] = terms.make("input", f"x{i}")
        else:
            filled = template.format(*[f"t{k}" for k in step.operands])
            env[f"t{i}"] = _term(ast.parse(filled, mode="eval").body, terms, env)
    expected = [env[f"t{i}"] for i in flat.results]
    functions = {f.name: f for f in ast.parse(text).body}
    got = _run_scalar(functions, terms, flat.inputs, stage)
    must_be(stage, "results", "as many as", len(expected), len(got))
    for k, (a, b) in enumerate(zip(expected, got, strict=True)):
        must(stage, f"result {k}", a == b, terms.show(a), terms.show(b))


def _run_scalar(functions, terms, inputs, stage):
    env = {f"x{i}": terms.make("input", f"x{i}") for i in range(inputs)}
    (attempt,) = [node for node in functions["run"].body if isinstance(node, ast.Try)]
    shared = {}
    for node in attempt.body:
        match node:
            case ast.Return(value=value):
                return [_term(item, terms, env | shared) for item in value.elts]
            case ast.Assign(targets=[ast.Name(id="m")]):
                shared = {f"m[{i}]": env[f"x{i}"] for i in range(inputs)}
            case ast.Expr(value=ast.Call(func=ast.Name(id=part))):
                _assign(functions[part].body, terms, {}, shared)
            case _:
                _assign([node], terms, env, shared)
    raise AssertionError(f"{stage}, run: expected a return, but got none")


def _assign(statements, terms, env, shared):
    for node in statements:
        term = _term(node.value, terms, env | shared)
        for target in node.targets:
            home = env if isinstance(target, ast.Name) else shared
            home[ast.unparse(target)] = term


def _term(root, terms, env):
    """The number of what an expression computes; a name that has no value is a function's."""
    match root:
        case ast.Name(id=name):
            return env[name] if name in env else terms.make("name", name)
        case ast.Subscript():
            return env[ast.unparse(root)]
        case ast.Constant(value=value):
            return terms.make("number", repr(value))
    head = type(root).__name__
    inner = []
    for field, value in ast.iter_fields(root):
        for item in value if isinstance(value, list) else [value]:
            known = isinstance(item, ast.expr)
            inner.append(_term(item, terms, env) if known else f"{field}:{type(item).__name__}")
    return terms.make(head, *inner)
