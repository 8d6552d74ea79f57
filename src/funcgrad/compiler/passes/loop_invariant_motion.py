"""Loop-invariant code motion and loop fission: work that is not loop-carried leaves the loop.

Steps that depend on no state and no sequence are hoisted before the loop. Steps that depend on sequences, but
on no state, are computed before it as one batch. Steps on which no state depends are computed after it, from
stacked values. A state that is a sum over the iterations (a reduction variable) is a sum after the loop, and
of matrix products, as in a weight's gradient, one product of tall matrices: sum of x_t^T @ g_t = X^T @ G. A
system whose matrix stays the same is split: the matrix is factored once, before the loop. Legal because
bodies are pure; numbers may be added in another order. Batches are made where they fit the cache. Machine
code has no calls to save, and a batch costs memory traffic: there only products for BLAS, and their operands,
leave the loop as batches.
Gain (docs/passes.md): without it the LSTM with one example takes 4.0 times as long, with sixteen 1.53.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.compiler.native.time_estimate import is_for_blas
from funcgrad.compiler.numpy.instruction_selection import is_foreign
from funcgrad.compiler.pass_options import PASS_OPTIONS
from funcgrad.compiler.passes.loop_body_regrouping import (
    factors,
    flatten_batch,
    regroup_loop_body,
    summands,
)
from funcgrad.compiler.passes.scattered_sums import is_scattered, parts_of, scattered_sum
from funcgrad.control.loop import is_loop
from funcgrad.expr import Expr, by_key, rebuild, subexpressions, symbol
from funcgrad.fold import folded, folded_by_key
from funcgrad.graph import CONSTANT, Key, dependent
from funcgrad.ops.base.columns import in_library
from funcgrad.ops.base.op import Elementwise, broadcast_to, columns_of, on_batch, spread
from funcgrad.ops.contraction import matmul_op
from funcgrad.ops.elementwise.arithmetic import add, subtract
from funcgrad.ops.stores import index_add_op
from funcgrad.ops.tuples import pick, pick_op
from funcgrad.rewrite.substitute import substitute_all

# Loops of fewer iterations, and values of more entries, gain nothing by a batch; nor do batches of more bytes
# than the cache, except those of matrix products and their operands, which may take more memory.
_MIN_ITERATIONS, _ENTRIES, _CACHE, _MEMORY = 4, 8192, 1 << 22, 1 << 26
# How many operations on numbers have to go for each batch that a loop reads instead: to make a list of an
# array and to read it takes as long as three of them.
_WORTH = 6


def hoist_loop_invariants(roots: Sequence[Expr], *, native: bool = False) -> list[Expr]:
    """The roots, with loop-invariant and independent work moved out of the loops below them.

    ``native`` says that they will be machine code.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> f = lambda w, xs: fg.scan(lambda h, x: (np.tanh(h + x @ w), None), np.zeros(2), xs)[0]
    >>> root = fg.trace(f, np.ones((3, 2)), np.ones((5, 3)))
    >>> [
    ...     e.op.name
    ...     for e in subexpressions(
    ...         *hoist_loop_invariants([root[0] if isinstance(root, tuple) else root])
    ...     )
    ... ]
    ['constant', 'input', 'input', 'matmul', 'loop', 'pick']
    """
    exprs = subexpressions(*roots)
    if not any([is_loop(expr) for expr in exprs]):
        return list(roots)
    wanted: dict[Key, dict[int, None]] = {}
    whole = {root.key for root in roots}
    for expr in exprs:
        for arg in expr.args:
            if is_loop(arg) and expr.op is pick_op:
                wanted.setdefault(arg.key, {})[expr.params[0][1]] = None
            elif is_loop(arg):
                whole.add(arg.key)
    parts: dict[Key, dict[int, Expr]] = {}

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if expr.op is pick_op and expr.args[0].key in parts:
            return parts[expr.args[0].key][expr.params[0][1]]
        new = rebuild(expr, args)
        if is_loop(expr) and expr.key not in whole:
            found = _Loop(new, sorted(wanted.get(expr.key, ())), native)
            parts[expr.key] = found.parts()
        return new

    return folded_by_key(roots, step)


def _states_read(
    number: Mapping[Key, int], expr: Expr, found: Sequence[frozenset[int]]
) -> frozenset[int]:
    """The numbers of the states that a value depends on, of those that its operands depend on."""
    own = number.get(expr.key)
    if own is not None:
        return frozenset((own,))
    distinct = {id(one): one for one in found}
    (first, *rest) = distinct.values() if distinct else (frozenset[int](),)
    return first.union(*rest) if rest else first


_INVARIANT, _PER_ITERATION, _LOOP_CARRIED = 0, 1, 2  # the dependence lattice of values in a body


class _Loop:
    """One loop and its fission: which values are computed before it, in it, and after it."""

    def __init__(self, loop: Expr, wanted: Sequence[int], native: bool) -> None:
        params = dict(loop.params)
        self.loop, self.wanted, self.native = loop, wanted, native
        self.body, self.cond, self.spec = params["body"], params["cond"], params["spec"]
        self.inputs = self.body.inputs
        self.outputs = hoist_loop_invariants(self.body.outputs, native=native)
        self.n, self.iterations = self.spec.num_carry, self.spec.trip_count
        if self.iterations >= _MIN_ITERATIONS:
            self.outputs = self._with_outer_products(self._with_invariant_parts())
        self.live = self._live()
        self.exprs = self._exprs()
        self.numbers = not any([expr.type.shape for expr in self.exprs])
        # A loop whose length is not known, or with a test, runs as it is but for what never changes.
        self.batches = self.cond is None and self.iterations >= _MIN_ITERATIONS
        self.kind = self._kinds()
        if self.numbers and self.batches and not self._is_worth_it():
            self.batches = False
            self.kind = self._kinds()
        if not self.numbers and PASS_OPTIONS.runs("loop_body_regrouping"):
            states = {x.key for x in self.inputs[: self.n]}
            self.outputs = regroup_loop_body(self.outputs, states, _ENTRIES)
            self.exprs = self._exprs()
            self.kind = self._kinds()
        self.sums: dict[int, list[Expr]] = {}
        self.inside: set[Key] = set()
        self.stacked: dict[Key, Expr] = {}
        """The values of all iterations that the remaining loop puts out."""

    def _exprs(self) -> list[Expr]:
        roots = [self.outputs[k] for k in self.live]
        return list(by_key(*roots).values())

    def _with_invariant_parts(self) -> list[Expr]:
        """The outputs with operations split in two where one half depends on an invariant operand alone."""
        exprs = subexpressions(*self.outputs)
        if not any([expr.args and columns_of(expr).invariant for expr in exprs]):
            return self.outputs
        changing = self.inputs[: self.n + self.spec.num_xs]
        varies = dependent(exprs, [x.key for x in changing])

        def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
            new = rebuild(expr, args)
            row = columns_of(expr).invariant if args else None
            if row is None or expr.key not in varies or expr.args[0].key in varies:
                return new
            split = in_library(row, None, expr.dtype.kind)
            found: Expr | None = None if split is None else split(new)
            return new if found is None else found

        return folded_by_key(self.outputs, step)

    def _with_outer_products(self, outputs: list[Expr]) -> list[Expr]:
        """The outputs with states that add up products of a column and a row as sums of outer products.

        A difference becomes a sum, and the product one of entries, whose sum `factors` finds.
        """
        found = list(outputs)
        for k, (x, output) in enumerate(zip(self.inputs[: self.n], outputs, strict=False)):
            if output.op not in (add, subtract) or output.args[0].key != x.key:
                continue
            term: Any = output.args[1]
            if term.op is matmul_op and term.ndim == 2 and term.args[0].shape[1] == 1:
                column, row = [np.reshape(arg, (arg.size,)) for arg in term.args]
                column = -column if output.op is subtract else column
                found[k] = x + np.reshape(column, (-1, 1)) * row
        return found

    # -- looking -----------------------------------------------------------------------------------
    def _live(self) -> list[int]:
        """The live outputs: those that the used ones depend on."""
        number = {x.key: i for i, x in enumerate(self.inputs[: self.n])}
        tested = [] if self.cond is None else list(self.cond.outputs)
        pairs = zip(self.body.inputs, [] if self.cond is None else self.cond.inputs, strict=False)
        names = {theirs.key: ours.key for ours, theirs in pairs}
        live = set(self.wanted)
        met = {names.get(expr.key, expr.key) for expr in subexpressions(*tested)}
        live.update([number[key] for key in met if key in number])
        read = folded(self.outputs, partial(_states_read, number))
        stack = sorted(live)
        while stack:
            further = read[stack.pop()] - live
            live |= further
            stack.extend(further)
        return sorted(live)

    def _kinds(self) -> dict[Key, int]:
        """Of each value how it depends on the iterations, as far as it may leave the loop."""
        kind = self._kinds_by(self._in_batches)
        if not (self.native and self.batches):
            return kind
        products = [e for e in self.exprs if kind[e.key] == _PER_ITERATION and self._is_for_blas(e)]
        factors_of = by_key(*products)
        return self._kinds_by(lambda expr: expr.key in factors_of and self._in_batches(expr))

    def _kinds_by(self, in_batches: Callable[[Expr], bool]) -> dict[Key, int]:
        kind: dict[Key, int] = {}
        middle = self.n + self.spec.num_xs
        for i, x in enumerate(self.inputs):
            kind[x.key] = (
                _LOOP_CARRIED if i < self.n else _PER_ITERATION if i < middle else _INVARIANT
            )

        def step(expr: Expr, kinds: tuple[int, ...]) -> int:
            known = max(kinds, default=_INVARIANT)
            held = known == _PER_ITERATION and not (self.batches and in_batches(expr))
            held = held or (known == _INVARIANT and expr.args != () and not self._always(expr))
            return _LOOP_CARRIED if held else known

        folded_by_key(self.exprs, step, kind)
        return kind

    def _is_for_blas(self, product: Expr) -> bool:
        """Whether BLAS computes a matrix product of all iterations faster than loops do each."""
        if product.op is not matmul_op:
            return False
        terms = product.args[0].shape[-1]
        return is_for_blas(self.iterations * product.size * terms, terms)

    def _is_sum_for_blas(self, term: Expr) -> bool:
        """Whether the sum of a term over the iterations is a product for BLAS."""
        pair = factors(term)
        if pair is None:
            return False
        rows = self.iterations * (pair[0].size // max(pair[0].shape[-1], 1))
        return is_for_blas(rows * term.size, rows)

    def _always(self, expr: Expr) -> bool:
        """Whether an operation may run once before the loop, even if the loop has no iteration."""
        if is_foreign(expr.op.run):
            return False
        return self.iterations > 0 or isinstance(expr.op, Elementwise) or expr.op is matmul_op

    def _in_batches(self, expr: Expr) -> bool:
        """Whether a value may be computed for all iterations by one batched operation."""
        most = _MEMORY if expr.op is matmul_op else _CACHE
        if not self._is_small(expr, most) or is_foreign(expr.op.run):
            return False
        return isinstance(expr.op, Elementwise) or expr.op.batch is not None

    def _is_small(self, expr: Expr, most: int) -> bool:
        """Whether a batch of a value takes at most so many bytes."""
        if expr.type.dtype.kind == "O" or expr.size > _ENTRIES:
            return False
        size: int = expr.size * expr.dtype.itemsize * self.iterations
        return size <= most

    def _is_worth_it(self) -> bool:
        """Whether fission of a loop on numbers removes more operations than it adds reads."""
        gone = [e for e in self.exprs if self.kind[e.key] == _PER_ITERATION and e.args]
        read = {
            arg.key
            for e in self.exprs
            if self.kind[e.key] == _LOOP_CARRIED
            for arg in e.args
            if self.kind[arg.key] == _PER_ITERATION and arg.args
        }
        return len(gone) >= _WORTH * len(read)

    # -- deciding ----------------------------------------------------------------------------------
    def _decide(self) -> None:
        """Partition the values: sums after the loop, and values that are computed in it."""
        many = self.batches and not self.numbers
        states = [k for k in self.live if k < self.n]
        self.sums = {}
        if many:
            uses = self._uses()
            for k in states:
                terms = self._terms(k, uses)
                if terms and not (self.native and not any(map(self._is_sum_for_blas, terms))):
                    self.sums[k] = terms
        while True:
            core = [self.outputs[k] for k in states if k not in self.sums]
            self.inside = set()
            self._move_inside(core)
            if many and not self.native:
                self._keep_what_is_large()
            else:
                self._move_inside([self.outputs[k] for k in self.live if k not in self.sums])
                self._move_inside(self._summed_parts())
            refused = [k for k, terms in self.sums.items() if not all(map(self._summed, terms))]
            if not refused:
                return
            for k in refused:
                del self.sums[k]

    def _move_inside(self, roots: Iterable[Expr]) -> None:
        def operands(expr: Expr) -> tuple[Expr, ...]:
            moves = self.kind[expr.key] == _LOOP_CARRIED and expr.key not in self.inside
            return expr.args if moves else ()

        below = subexpressions(*roots, operands=operands)
        self.inside.update([expr.key for expr in below if self.kind[expr.key] == _LOOP_CARRIED])

    def _keep_what_is_large(self) -> None:
        """Keep in the loop what cannot be computed after it from batches of at most so many bytes."""
        ends = [self.outputs[k] for k in self.live if k >= self.n]
        ends.extend(self._summed_parts())
        for expr in subexpressions(*ends):
            key = expr.key
            if self.kind[key] != _LOOP_CARRIED or key in self.inside:
                continue
            if not (expr.args and self._in_batches(expr) and all(map(self._at_hand, expr.args))):
                self._move_inside([expr])

    def _summed_parts(self) -> list[Expr]:
        return [part for terms in self.sums.values() for t in terms for part in parts_of(t)]

    def _at_hand(self, expr: Expr) -> bool:
        """Whether the values of all iterations are available after the loop."""
        return expr.key not in self.inside or self._is_small(expr, _MEMORY)

    def _summed(self, term: Expr) -> bool:
        return all(map(self._at_hand, parts_of(term)))

    def _uses(self) -> dict[Key, int]:
        uses = Counter([arg.key for expr in self.exprs for arg in expr.args])
        uses.update([self.outputs[k].key for k in self.live])
        return uses

    def _terms(self, k: int, uses: dict[Key, int]) -> list[Expr] | None:
        """The terms that a state accumulates; None if the state has another use."""
        x, node = self.inputs[k], self.outputs[k]
        if x.dtype.kind not in "fc" or uses.get(x.key) != 1 or node.key == x.key:
            return None
        on_x = dependent(self.exprs, [x.key])
        terms = []
        while node.key != x.key:
            if uses[node.key] != 1:
                return None
            is_added = node.op is index_add_op and is_scattered(node)
            if is_added and not any([a.key in on_x for a in node.args[1:]]):
                terms.append(node)
                node = node.args[0]
                continue
            if node.op is not add:
                return None
            mine = [arg for arg in node.args if arg.key in on_x]
            rest = [arg for arg in node.args if arg.key not in on_x]
            if len(mine) != 1:
                return None
            node = mine[0]
            terms.extend(rest)
        return [
            part
            for term in terms
            for part in ([term] if term.op is index_add_op else summands(term, uses))
        ]

    # -- building ----------------------------------------------------------------------------------
    def parts(self) -> dict[int, Expr]:
        """The expression of each used output."""
        self._decide()
        self.known: dict[Key, Expr] = {}  # of all iterations, or, where fixed, of each
        for x, operand in zip(self.inputs, self.loop.args, strict=True):
            if self.kind[x.key] != _LOOP_CARRIED:
                self.known[x.key] = operand
        before = [expr for expr in self.exprs if self.kind[expr.key] != _LOOP_CARRIED]
        folded_by_key(before, self._computed, self.known)
        stacks = self._stacks()
        states = [k for k in self.live if k < self.n and k not in self.sums]
        first = len(states)
        if states or stacks:
            loop = self._rolled(states, stacks)
            for place, expr in enumerate(stacks):
                self.stacked[expr.key] = pick(loop, first + place)
        self.known.update({key: x for key, x in self.stacked.items() if key in self.inside})
        folded_by_key(self._after(), self._computed, self.known)
        found = {k: pick(loop, place) for place, k in enumerate(states)}
        for k, terms in self.sums.items():
            total: Any = self.loop.args[k]
            for term in terms:
                total = total + self._sum(term)
            found[k] = total
        for k in self.live:
            if k >= self.n:
                found[k] = self._batch(self.outputs[k])
        return found

    def _is_batch(self, expr: Expr) -> bool:
        return self.kind[expr.key] != _INVARIANT

    def _batch(self, expr: Expr) -> Expr:
        if expr.key in self.stacked:
            return self.stacked[expr.key]
        known = self.known[expr.key]
        batch: Expr = known if self._is_batch(expr) else spread(known, self.iterations)
        return batch

    def _computed(self, expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if not self._is_batch(expr):
            return rebuild(expr, args)
        flags = tuple([self._is_batch(arg) for arg in expr.args])
        batch: Expr = on_batch(expr.op, self.iterations, flags, args, dict(expr.params))
        return batch

    def _ends(self) -> list[Expr]:
        """The outputs of all iterations that are live, and the parts of sums over the iterations."""
        parts = [x for terms in self.sums.values() for term in terms for x in parts_of(term)]
        return [*[self.outputs[k] for k in self.live if k >= self.n], *parts]

    def _after(self) -> list[Expr]:
        """The values that are computed after the loop, in order."""
        return [
            e
            for e in subexpressions(*self._ends())
            if self.kind[e.key] == _LOOP_CARRIED and e.key not in self.inside
        ]

    def _stacks(self) -> list[Expr]:
        """The values of all iterations that are used after the loop."""
        needed = [*self._ends(), *[arg for expr in self._after() for arg in expr.args]]
        return list({e.key: e for e in needed if e.key in self.inside or self._is_open(e)}.values())

    def _is_open(self, expr: Expr) -> bool:
        """Whether an output is the same in each iteration, of a loop which alone knows their number."""
        return self.iterations < 0 and self.kind[expr.key] == _INVARIANT

    def _rolled(self, states: Sequence[int], stacks: Sequence[Expr]) -> Expr:
        """The remaining loop."""
        outputs = [*[self.outputs[k] for k in states], *stacks]
        middle = self.n + self.spec.num_xs
        tested = [] if self.cond is None else list(range(middle, len(self.inputs)))
        kept = {self.inputs[i].key: self.inputs[i] for i in tested}
        for expr in [*outputs, *[a for e in self.exprs if e.key in self.inside for a in e.args]]:
            while expr.op is broadcast_to and self.kind[expr.key] != _LOOP_CARRIED:
                expr = expr.args[0]
            if self.kind[expr.key] != _LOOP_CARRIED and expr.op is not CONSTANT:
                kept[expr.key] = expr
        if self.iterations < 0 and self.cond is None:  # the sequences say how often it runs
            kept.update({x.key: x for x in self.inputs[self.n : middle]})
        items = [e for e in kept.values() if self.kind[e.key] == _PER_ITERATION]
        fixed = [e for e in kept.values() if self.kind[e.key] == _INVARIANT]
        inner = [*[self.inputs[k] for k in states], *items, *fixed]
        names = [symbol(f"i{k}", e.type) for k, e in enumerate(inner)]
        given = {e.key: name for e, name in zip(inner, names, strict=True)}
        remade = type(self.body)
        cond = self.cond
        if cond is not None:
            theirs = zip(cond.inputs, [*self.inputs[: self.n], *self.inputs[middle:]], strict=True)
            outer = {x.key: given[ours.key] for x, ours in theirs if ours.key in given}
            cond = remade(names, substitute_all(cond.outputs, outer))
        spec = self.spec._replace(num_carry=len(states), num_xs=len(items))
        operands = [
            *[self.loop.args[k] for k in states],
            *[self.known[e.key] for e in [*items, *fixed]],
        ]
        body = remade(names, substitute_all(outputs, given))
        loop: Expr = self.loop.op(*operands, body=body, cond=cond, spec=spec)
        return loop

    def _sum(self, term: Expr) -> Any:
        """The sum of a term over all iterations."""
        pair = factors(term)
        if pair:
            tall, wide = [self._batch(x) for x in pair]
            return np.matmul(np.transpose(flatten_batch(tall)), flatten_batch(wide))
        if is_scattered(term):
            return scattered_sum(term, [self._batch(x) for x in parts_of(term)])
        if not self._is_batch(term):
            return self.known[term.key] * self.iterations
        return np.sum(self.known[term.key], axis=0)
