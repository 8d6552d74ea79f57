"""What text on numbers computes, checked without running it."""

import ast

from funcgrad.compiler.verify.failure import must, must_be
from funcgrad.compiler.verify.terms import Terms


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
