"""Reverse and forward accumulation: backpropagation is `sum_product` with linear maps as weights."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, as_derived, as_expression, by_key, present, subexpressions
from funcgrad.expr.registry import functions
from funcgrad.fold import Item, Semiring, folded_by_key, path_sums, path_sums_steps, toposort
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, Key, has_more_nodes
from funcgrad.linear import Composed, Diagonal, Joint, LinearMap, Parts, Quotient, Unreached
from funcgrad.node_names import labels, names_of
from funcgrad.ops.base.op import differentiable, leaf
from funcgrad.ops.chosen_zeros import masked_factors
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.roots_of_squares import masked_root, nonzero_squares
from funcgrad.ops.shape import broadcast_to, full_like, zeros_like
from funcgrad.ops.stores import index_set_op
from funcgrad.ops.tuples import together_op
from funcgrad.printed_text import html_table, one_line
from funcgrad.rewrite.evaluate import named_nodes, variables
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.store_laws import is_zero
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from pyrsistent import PMap


class GradientMap(Mapping[Key, Any]):
    """The cotangent of every node that the root depends on smoothly: an immutable
    mapping by key.

    It is indexed with a key, an expression, or the name of a variable. Absent
    means zero: the cotangent of an expression that no path reaches is 0.
    ``map`` is the persistent map itself. Two maps are equal if their roots are
    equal programs and all cotangents are equal. Called with values of the
    variables by name, it is the map of the cotangents' values.

    Maps add with ``+`` and `sum`, node by node: the sum is the gradient map of
    the sum of the roots. If these are different programs, ``root`` is the
    tuple of them.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> z = fg.backprop(x * y + y)
    >>> z[y]
    x + 1
    >>> z
    GradientMap of x*y + y
      x        y
      y        x + 1
      x*y      1.0
      x*y + y  1.0
    >>> z(x=2.0, y=5.0)[x]
    5.0
    >>> sum(z(x=2.0, y=y) for y in (5.0, 6.0))[x]
    11.0
    """

    __slots__ = ("_names", "_sums", "root")

    root: Expr
    _names: tuple[str, ...] | None
    _sums: Mapping[Key, Any]

    def __init__(self, root: Expr, sums: Mapping[Key, Any]) -> None:
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "_names", None)
        object.__setattr__(self, "_sums", sums)

    @property
    def map(self) -> PMap[Key, Any]:
        from pyrsistent import PMap

        from funcgrad.node_map import node_map

        # Made on demand: `backprop` gives a dict that is never changed, and few callers need the map.
        sums = self._sums
        if not isinstance(sums, PMap):
            with Paused():
                sums = node_map(self.root, sums)
                object.__setattr__(self, "_sums", sums)
        return sums

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a gradient map is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a gradient map is immutable")

    def __setitem__(self, key: object, value: object) -> None:
        raise type_error("a gradient map is immutable; write z.map.set(x, value) for a changed map")

    def __delitem__(self, key: object) -> None:
        raise type_error("a gradient map is immutable; write z.map.discard(x) for a map without x")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GradientMap):
            return NotImplemented
        ours, theirs = self._sums, other._sums
        return (
            self._roots.keys() == other._roots.keys()
            and ours.keys() == theirs.keys()
            and all([_is_same(ours[key], theirs[key]) for key in ours])
        )

    def __hash__(self) -> int:
        return hash((GradientMap, frozenset(self._roots)))

    @property
    def _roots(self) -> dict[Key, Expr]:
        root = self.root
        return {e.key: e for e in (root.args if root.op is together_op else (root,))}

    def __add__(self, other: object) -> GradientMap:
        if not isinstance(other, GradientMap):
            # The sum of no maps, from which `sum` starts.
            return self if type(other) is int and other == 0 else NotImplemented
        sums, roots = dict(self._sums), self._roots | other._roots
        for key, value in other._sums.items():
            sums[key] = sums[key] + value if key in sums else value
        same = roots.keys() == self._roots.keys()
        return GradientMap(self.root if same else together_op(*roots.values()), sums)

    __radd__ = __add__

    def __copy__(self) -> GradientMap:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> GradientMap:
        return GradientMap(self.root, deepcopy(dict(self._sums), memo))

    def __reduce__(self) -> tuple[Any, ...]:
        # All expressions are operands of one, so that shared parts are stored once.
        exprs: list[Expr] = [self.root]
        packed = {key: _pack(value, exprs) for key, value in self._sums.items()}
        return _unpickled, (together_op(*exprs), packed)

    def _ipython_key_completions_(self) -> list[str]:
        return list(named_nodes(self.root))

    def __call__(self, values: Any = None, /, *more: Any, **named: Any) -> Any:
        """The map with the values of its simplified cotangents, given one for each variable by name, or in a
        dict.
        """
        return functions["evaluate"](self, (values, *more) if more else values, **named)

    def with_values(self, run: Callable[[list[Expr]], list[Any]]) -> GradientMap:
        """The map with ``run`` applied to the list of all expressions among its
        cotangents.
        """
        exprs: list[Expr] = []
        packed = {key: _pack(value, exprs) for key, value in self._sums.items()}
        values = run(exprs)
        return GradientMap(self.root, {key: _unpack(v, values) for key, v in packed.items()})

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            names = named_nodes(self.root)
            if key not in names:
                raise KeyError(f"{key}; the names are {', '.join(names) or 'none'}")
            key = names[key]
        try:
            found = self._sums[key.key if isinstance(key, Expr) else key]
        except KeyError:
            if isinstance(key, Expr):
                return present(0.0) if not key.shape else zeros_like(key)
            raise
        return self._derived(found)

    def _derived(self, value: Any) -> Any:
        """A cotangent as it is given out: an expression as a derived formula."""
        if not isinstance(value, Expr):
            return value
        if self._names is None:
            names = (*variables(self.root), *labels(self.root).values())
            object.__setattr__(self, "_names", names)
        return as_derived(value, self._names or ())

    def __contains__(self, key: object) -> bool:
        return (key.key if isinstance(key, Expr) else key) in self._sums

    def __iter__(self) -> Iterator[Key]:
        return (key for key in toposort(self.root) if key in self._sums)

    def __len__(self) -> int:
        return len(self._sums)

    def _rows(self) -> list[tuple[str, str]]:
        shown = [e for key, e in by_key(self.root).items() if key in self._sums][:40]
        labeled, names = labels(self.root), names_of(self.root)
        lines = []
        for e in shown:
            row = one_line(e, _WIDEST_NODE)
            row = names[e.key] if "let " in row or "…" in row else row
            row = f"{labeled[e.key]} = {row}" if labeled.get(e.key, row) != row else row
            lines.append((row, self._text(self._sums[e.key])))
        return lines

    def _text(self, value: Any) -> str:
        if isinstance(value, Expr) and has_more_nodes([value], _MOST_WRITTEN):
            return f"<{value.type} of more than {_MOST_WRITTEN} nodes>"
        return one_line(self._derived(value))

    def _repr_html_(self) -> str:
        return html_table((f"node of {self._title()}", "gradient"), self._rows())

    def _title(self) -> str:
        return ", ".join([one_line(root) for root in self._roots.values()])

    def __repr__(self) -> str:
        lines = self._rows()
        width = max((len(name) for name, _ in lines), default=0)
        more = len(self._sums) - len(lines)
        body = [f"  {name:{width}}  {value}" for name, value in lines]
        if more > 0:
            body.append(f"  … {more} more")
        return "\n".join([f"GradientMap of {self._title()}", *body])


_WIDEST_NODE = 40
"""Characters of a node's formula; a longer one is called v and its place in the order."""
_MOST_WRITTEN = 1000
"""Nodes of a cotangent; a larger one would be simplified for a line that is cut off."""


def _is_same(x: Any, y: Any) -> bool:
    """Whether two cotangents are equal: expressions by key, arrays by content, where NaN equals NaN."""
    if isinstance(x, Expr) or isinstance(y, Expr):
        return isinstance(x, Expr) and isinstance(y, Expr) and x.key == y.key
    if isinstance(x, Parts) or isinstance(y, Parts):
        both = isinstance(x, Parts) and isinstance(y, Parts) and x.of.keys() == y.of.keys()
        return both and all([_is_same(x.of[place], y.of[place]) for place in x.of])
    alike = np.result_type(x) == np.result_type(y)
    return alike and np.array_equal(x, y, equal_nan=True)


def _pack(value: ArrayLike, exprs: list[Expr]) -> tuple[str, Any]:
    """A cotangent for pickling: an expression is appended to ``exprs`` and replaced by its position there."""
    if isinstance(value, Expr):
        exprs.append(value)
        return "expression", len(exprs) - 1
    if isinstance(value, Parts):
        return "parts", {place: _pack(part, exprs) for place, part in value.of.items()}
    return "value", value


def _unpack(packed: tuple[str, Any], exprs: Sequence[Any]) -> Any:
    kind, value = packed
    if kind == "parts":
        return Parts({place: _unpack(part, exprs) for place, part in value.items()})
    return exprs[value] if kind == "expression" else value


def _unpickled(whole: Expr, packed: Mapping[Key, tuple[str, Any]]) -> GradientMap:
    exprs = whole.args
    return GradientMap(exprs[0], {key: _unpack(value, exprs) for key, value in packed.items()})


class Zeros(NamedTuple):
    """Where the linear maps of some expressions are masked: see `masked_factors` and `nonzero_squares`."""

    factors: Mapping[int, tuple[Expr, ...]]
    squares: Mapping[int, Expr]

    @staticmethod
    def of(exprs: Iterable[Expr], varied: Container[int] | None = None) -> Zeros:
        """Those of expressions, of which some are ``varied``, operands first."""
        order = list(exprs)
        return Zeros(masked_factors(order, varied), nonzero_squares(order))


def linear_maps(
    exprs: Mapping[Item, Expr],
    wanted: Container[Item],
    key: Callable[[Expr], Item] = operator.attrgetter("key"),
    zeros: Zeros | None = None,
) -> Callable[[Item], list[tuple[Item, LinearMap]]]:
    """The arcs from each node to its operands in ``wanted``, with their linear maps.

    ``zeros`` are those of the expressions, if they are known.
    """
    factors, squares = zeros or Zeros.of(exprs.values())

    def arcs(of: Item) -> list[tuple[Item, LinearMap]]:
        child = exprs[of]
        op, args, params = child.op, child.args, child.params
        joint: Joint | None = None
        found: list[tuple[Item, LinearMap]] = []
        for place, parent in enumerate(args):
            to = key(parent)
            if to not in wanted or parent.op is CONSTANT or parent.type.dtype.kind not in "fcO":
                continue
            if op.joint is not None:
                joint = joint or op.joint(child, *args, **dict(params))
                found.append((to, joint.edge(place)))
                continue
            edges = op.edges
            rule = edges[place] if type(edges) is tuple else edges(place)
            if rule is not None:
                values = factors.get(id(child)) or (child, *args)
                edge = rule(*values, **dict(params)) if params else rule(*values)
                if id(child) in squares:
                    edge = masked_root(edge, squares[id(child)])
                if type(edge) is not Unreached:
                    found.append((to, edge))
        return found

    return arcs


def _pullback(seed: Array) -> Semiring:
    """Cotangents: added where paths meet, acted upon by each edge's map."""
    return Semiring(operator.add, pulled_back, seed)


def pulled_back(g: Any, edge: LinearMap) -> Any:
    """The image of a cotangent under an edge's transpose: a mask or a store of zeros stays outermost.

    A factor acts entry by entry, so that these commute with it: an entry that a condition does not select,
    or that is overwritten, is not multiplied by a factor that may be infinite or NaN.
    """
    if type(g) is not Expr or g.op not in (mask, index_set_op):
        return edge.transpose(g)
    if isinstance(edge, Composed):
        return pulled_back(pulled_back(g, edge.outer), edge.inner)
    if not isinstance(edge, Diagonal | Quotient):
        return edge.transpose(g)
    inner, zeroing = without_zeroing(g)
    return zeroed_as(edge.transpose(inner), zeroing)


def without_zeroing(g: Expr) -> tuple[Expr, list[Expr]]:
    """A cotangent without the masks and stores of zeros that it ends with, and these, last first."""
    found: list[Expr] = []
    while len(found) < _MOST_ZEROING:
        if g.op is mask:
            inner = g.args[1]
        elif g.op is index_set_op and is_zero(g.args[1]):
            inner = g.args[0]
        else:
            break
        found.append(g)
        g = inner
    return g, found


_MOST_ZEROING = 4  # those of a long loop are not made again at each operation between them


def zeroed_as(image: Any, operations: Sequence[Expr]) -> Any:
    """An array with zeros where these operations, the last one first, put them."""
    if operations and type(image) is Expr and is_zero(image):
        return image
    for operation in reversed(operations):
        if operation.op is mask:
            image = mask(operation.args[0], image)
        else:
            _, v, *arrays = operation.args
            blank = broadcast_to(np.zeros((), image.dtype), v.shape)
            image = index_set_op(image, blank, *arrays, **dict(operation.params))
    return image


def backprop(expr: Expr, seed: object = 1, wrt: Sequence[Expr] | None = None) -> GradientMap:
    """The cotangent of every node of ``expr``: reverse accumulation.

    ``z(root) = seed``;
    ``z(parent) = sum over its children of transpose(edge)(z(child))``: one
    step for each node of the reversed order, threading a map from key to
    cotangent. It is `sum_product` on the semiring whose sum is ``+`` and whose
    product is the action of a linear map.

    ``seed`` has the shape of ``expr``, or is a number for all its entries.
    With ``wrt``, only what leads to those expressions is visited. The
    cotangents are unsimplified expressions: `simplify` shortens them,
    `gradient` does both. Constants, and what is computed from them alone, have
    no cotangent.

    Raises TypeError if ``expr`` is no expression of floats or complex numbers;
    ValueError if ``seed`` has another shape.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> fg.simplify(fg.backprop(x**3)[x])
    3*x**2
    """
    expr = _checked_root(expr)
    if wrt is not None and not (
        isinstance(wrt, Sequence) and all([isinstance(target, Expr) for target in wrt])
    ):
        raise type_error(
            f"backprop: expected a list of expressions as wrt, but got {wrt!r}; write wrt=[x]"
        )
    with Paused():
        exprs = by_key(expr)
        wanted = reached_keys(exprs) if wrt is None else varied(exprs, wrt)
        arcs = linear_maps(exprs, wanted)
        return GradientMap(expr, path_sums(reversed(exprs), _pullback(_seed(expr, seed)), arcs))


def backprop_steps(expr: Expr, seed: ArrayLike = 1) -> Iterator[GradientMap]:
    """`backprop` as a scan: the gradient map before each step of the reduction
    and after the last.

    The maps are persistent and share their structure; each stays valid as the
    next is made.

    Raises as `backprop`.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> [len(z) for z in fg.backprop_steps(fg.var("x") ** 2 + x)]
    [1, 3, 3, 3, 3]
    """
    expr = _checked_root(expr)
    exprs = by_key(expr)
    arcs = linear_maps(exprs, reached_keys(exprs))
    from funcgrad.node_map import node_map

    semiring = _pullback(_seed(expr, seed))
    start = node_map(expr, {expr.key: semiring.one})
    steps = path_sums_steps(list(reversed(exprs)), semiring, arcs, start)
    return (GradientMap(expr, step) for step in steps)


def reached_keys(exprs: Mapping[Key, Expr]) -> set[Key]:
    """The keys of variables, and of expressions that depend on one."""
    found: set[Key] = set()
    for key, expr in exprs.items():
        if expr.op is INPUT or expr.op is leaf or any([arg.key in found for arg in expr.args]):
            found.add(key)
    return found


def varied(
    exprs: Mapping[Item, Expr],
    targets: Iterable[Expr],
    key: Callable[[Expr], Item] = operator.attrgetter("key"),
) -> set[Item]:
    """The keys of some expressions, and of those that depend on them along edges."""
    found = {key(target) for target in targets}
    for me, expr in exprs.items():
        if not differentiable(expr.type.dtype):
            continue
        op = expr.op
        for place, arg in enumerate(expr.args):
            if key(arg) in found and op.edge(place) is not None:
                found.add(me)
                break
    return found


def _checked_root(value: object) -> Expr:
    expr = as_expression("backprop", value)
    if not differentiable(expr.dtype):
        raise type_error(f"backprop: expected a float expression, but got {expr.type}")
    return expr


def _seed(expr: Expr, seed: Any) -> Any:
    if isinstance(seed, Parts):  # of a tuple
        return seed
    if isinstance(seed, str):
        raise type_error(
            f"backprop: expected a number or an array as seed, but got str; write backprop(e)[{seed!r}] for "
            "the gradient of a variable",
        )
    if isinstance(seed, Mapping):
        raise type_error(
            f"backprop: expected a number or an array as seed, but got {type(seed).__name__}; write "
            "backprop(e)(x=2.0) for the cotangents at x = 2",
        )
    if isinstance(seed, Expr) or seed.__class__.__module__ == "numpy":
        if seed.shape not in ((), expr.shape):
            raise value_error(
                f"backprop: expected a seed of {expr.type}, but got shape {seed.shape}"
            )
        return seed if seed.shape == expr.shape else full_like(expr, seed)
    return full_like(expr, seed)


def gradients(root: Expr, targets: Sequence[Expr]) -> list[Expr]:
    """The simplified gradient of a scalar root in each target."""
    return simplify_all(cotangents(root, targets), mode="derivative")


def cotangents(root: Expr, targets: Sequence[Expr]) -> list[Expr]:
    """The gradient of a scalar root in each target, unsimplified."""
    if not differentiable(root.dtype):
        return [zeros_like(target) for target in targets]
    found = backprop(root, wrt=targets)._sums
    return [found[t.key] if t.key in found else zeros_like(t) for t in targets]


def pushforward(roots: Sequence[Expr], tangents: Mapping[Key, Any]) -> list[Any]:
    """The tangent of each root, given those of some nodes: forward accumulation.

    ``t(node) = sum over its operands of apply(edge)(t(operand))``; None if no tangent reaches it.
    """
    given = {key: tangent for key, tangent in tangents.items() if tangent is not None}
    exprs = {id(expr): expr for expr in subexpressions(*roots)}
    targets = [expr for expr in exprs.values() if expr.key in given]
    zeros = Zeros.of(exprs.values(), varied(exprs, targets, id))
    return folded_by_key(roots, partial(_tangent, zeros), given)


def _tangent(zeros: Zeros, expr: Expr, flows: tuple[Any, ...]) -> Any:
    """The tangent of an expression, from those of its operands."""
    if expr.op in (INPUT, CONSTANT) or not differentiable(expr.dtype):
        return None
    params = dict(expr.params)
    if expr.op.joint is not None:
        moved = {place: flow for place, flow in enumerate(flows) if flow is not None}
        return expr.op.joint(expr, *expr.args, **params).forward(moved) if moved else None
    total = None
    for place, flow in enumerate(flows):
        rule = None if flow is None else expr.op.edge(place)
        if rule is not None:
            values = zeros.factors.get(id(expr)) or (expr, *expr.args)
            edge = rule(*values, **params)
            if id(expr) in zeros.squares:
                edge = masked_root(edge, zeros.squares[id(expr)])
            term = edge.apply(flow)
            total = term if total is None else total if term is None else total + term
    return total
