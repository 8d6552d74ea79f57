"""Programs as JSON: what is written is read back with the same keys, and nothing else is read."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.expr import assemble_node, operation_table
from funcgrad.fold import toposort
from funcgrad.ops.base.op import build_structural
from funcgrad.ops.decompositions import rotation_rate_op
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.ops.tuples import pick_op, together_op
from funcgrad.show.json.json_format import from_json, to_json
from funcgrad.show.json.validate_node import _is_brief
from tests.default_slice import examples, one_in
from tests.operation_readers import SPECIAL, special_program
from tests.operation_readers import programs as programs_of_readers
from tests.ops.samples import SAMPLES
from tests.show.programs import (
    ALL,
    GRADIENTS,
    PROGRAMS,
    any_variable,
    nested_calls,
    values_of,
)

X = fg.var("x")
CASES = [(name, i) for name in SAMPLES for i in range(len(SAMPLES[name]))]


def sample_expr(name, i):
    args, params = SAMPLES[name][i]
    variables = [fg.var(f"x{k}", np.shape(a), np.asarray(a).dtype) for k, a in enumerate(args)]
    op = all_ops()[name]
    return build_structural(op, variables, params) if params else op(*variables)


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES, start=2))
def test_every_operation_comes_back_with_its_keys(name, i):
    expr = sample_expr(name, i)
    text = to_json(expr)
    back = from_json(text)
    assert list(toposort(back)) == list(toposort(expr))
    assert back.key == expr.key
    assert back.type == expr.type
    assert to_json(back) == text
    json.loads(text, parse_constant=pytest.fail)  # strict JSON


@pytest.mark.parametrize(
    "value",
    [
        *(0.0, -0.0, np.nan, np.inf, 1e-320, True, 3, 1j),
        *(np.float32(0.1), np.uint8(200), np.int64(-1)),
        np.zeros((0, 3)),
        np.arange(6).reshape(2, 3).T,
        np.array([True, False]),
        np.array([1, 2], ">i4"),
    ],
)
def test_constants_come_back_bit_by_bit(value):
    expr = fg.const(value)
    back = from_json(to_json(expr))
    assert back.key == expr.key
    array = back.graph[back.key].value
    assert array.dtype == np.asarray(value).dtype
    assert array.tobytes() == np.asarray(value).tobytes()
    assert not array.flags.writeable


@pytest.mark.parametrize("name", ["x", 'a"b\\', "λ", "\ud800", "</script>", "x" * 1000, "\n"])
def test_any_name_comes_back(name):
    expr = any_variable(name, (2,), "float32") + 1
    assert from_json(to_json(expr)).key == expr.key


def test_params_of_every_kind_come_back():
    values = (None, True, 3, 0.5, float("nan"), 1 + 2j, "s", (1, (2, None)), np.dtype("f4"), ...)
    params = (("scope", values), ("place", 0))
    leaf = all_ops()["leaf"]
    expr = assemble_node(leaf, (X,), params, X.type)
    back = from_json(to_json(expr))
    assert repr(back.params) == repr(params)


def test_a_gradient_of_a_network_computes_the_same():
    w, v = fg.var("w", (4, 3)), fg.var("v", (3,))
    loss = np.sum(np.tanh(w @ v)[::2] ** 2) + np.max(w, axis=0)[1]
    slope = fg.gradient(loss, w)
    given = {"w": np.arange(12.0).reshape(4, 3), "v": np.ones(3)}
    assert np.array_equal(from_json(to_json(slope))(**given), slope(**given))


def test_what_cannot_be_stored_is_refused():
    with pytest.raises(
        TypeError, match="to_json: expected a function or an expression, but got float"
    ):
        to_json(1.0)
    leaf = all_ops()["leaf"]
    running = assemble_node(leaf, (X,), (("scope", object()), ("place", 0)), X.type)
    with pytest.raises(TypeError, match="leaf holds object; store the expression of a finished"):
        to_json(running)
    with pytest.raises(TypeError, match="from_json: expected text, but got bytes"):
        from_json(b"{}")


def changed(change, expr=None):
    whole = json.loads(to_json(fg.sin(X) * 2 if expr is None else expr))
    change(whole, whole["nodes"])
    return json.dumps(whole)


def put(i, entry, value):
    def change(whole, nodes):
        nodes[i][entry] = value

    return change


BAD = [
    ("", "expected JSON text, but Expecting value"),
    ("[" * 100_000, "expected JSON text"),
    ('{"a": ' * 5_000 + "1" + "}" * 5_000, "from_json: expected"),
    ("NaN", "but got NaN, which JSON has not"),
    ("9" * 10_000, "expected JSON text"),
    ("null", 'an object with "format"'),
    ('{"format": "funcgrad", "format": "funcgrad"}', "each name once"),
    (changed(lambda w, n: w.update(version=2)), "expected version 1, but got 2"),
    (changed(lambda w, n: w.update(version=True)), "expected version 1, but got True"),
    (changed(lambda w, n: w.pop("version")), "expected version 1, but got None"),
    (changed(lambda w, n: w.update(more=1)), "expected format, version and nodes"),
    (changed(lambda w, n: w.update(nodes=[])), "a list of at least one node"),
    (changed(lambda w, n: w.update(nodes={})), "a list of at least one node"),
    (changed(lambda w, n: n.append(3)), "an object with op, parents"),
    (changed(lambda w, n: n[0].pop("shape")), "an object with op, parents"),
    (changed(lambda w, n: n.append(n[0])), "each node once, in canonical order"),
    (changed(lambda w, n: n.insert(1, n[0]) or put(2, "parents", [1])(w, n)), "from_json"),
    (changed(put(1, "parents", [1])), "places of earlier nodes as parents at node 1"),
    (changed(put(1, "parents", [3])), "places of earlier nodes as parents"),
    (changed(put(1, "parents", [-1])), "places of earlier nodes as parents"),
    (changed(put(1, "parents", [False])), "places of earlier nodes as parents"),
    (changed(put(1, "parents", "0")), "places of earlier nodes as parents"),
    (changed(put(1, "parents", [0, 0])), "sin at node 1: expected 1 operands, but got 2"),
    (changed(put(1, "op", "sine")), "known operation at node 1, but got 'sine'; the nearest is 'sin"),
    (changed(put(1, "op", "__import__")), "known operation at node 1, but got '__import__'"),
    (changed(put(1, "op", ["sin"])), "known operation"),
    (changed(put(1, "op", None)), "known operation"),
    (changed(put(1, "params", [["x", 1]])), "expected no params"),
    (changed(put(1, "params", {"x": 1})), "pairs"),
    (changed(put(1, "shape", [2])), "expected the type float64, but got float64[2]"),
    (changed(put(1, "dtype", "<f4")), "expected the type float64, but got float32"),
    (changed(put(0, "dtype", "|O")), "a dtype such as <f8"),
    (changed(put(0, "dtype", "float64")), "a dtype such as <f8"),
    (changed(put(0, "dtype", "<f7")), "a dtype such as <f8"),
    (changed(put(0, "dtype", 8)), "a dtype such as <f8"),
    (changed(put(0, "shape", [-1])), "a list of lengths"),
    (changed(put(0, "shape", [1.0])), "a list of lengths"),
    (changed(put(0, "shape", [10**30])), "fits into memory addresses"),
    (changed(put(0, "shape", [2**40, 2**40, 0])), "fits into memory addresses"),
    (changed(put(0, "shape", [1] * 65)), "fits into memory addresses"),
    (changed(put(0, "params", [])), "a name for an input"),
    (changed(put(0, "params", [["name", ""]])), "a name for an input"),
    (changed(put(0, "params", [["name", 3]])), "a name for an input"),
    (changed(put(0, "params", [["name", "x"], ["name", "x"]])), "each param once"),
    (changed(put(2, "params", [["value", {"base64": "AAAA"}]])), "expected 8 bytes for float64"),
    (changed(put(2, "params", [["value", {"base64": "!"}]])), "expected base64"),
    (changed(put(2, "params", [["value", 2.0]])), "for a constant"),
    (changed(put(2, "shape", [2**50])), "bytes for float64"),
    (changed(put(0, "op", "constant")), "for a constant"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), BAD)
def test_bad_text_is_a_value_error_of_one_line(text, match):
    with pytest.raises(ValueError, match=r"^from_json: ") as caught:
        from_json(text)
    assert match in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


MATRIX = fg.var("a", (3, 4))
HUGE = 10**9
BAD_PARAMS = [
    (np.sum(MATRIX, axis=0), "sum", [["axis", [7]]], [3, 4]),
    (np.sum(MATRIX, axis=0), "sum", [["axis", [True]]], [4]),
    (np.sum(MATRIX, axis=0), "sum", [["axis", [10**6]]], [3, 4]),
    (np.sum(MATRIX, axis=0), "sum", [["axes", [0]]], [4]),
    (np.sum(MATRIX, axis=0), "sum", [["axis", {"float": "0.5"}]], [4]),
    (np.sum(MATRIX, axis=0), "sum", [["axis", {"float": "1"}]], [4]),
    (np.sum(MATRIX, axis=0), "sum", [["axis", 0.5]], [4]),
    (np.sum(MATRIX, axis=0), "sum", [["axis", 2**70]], [4]),
    (np.reshape(MATRIX, (4, 3)), "reshape", [["shape", [5, 5]]], [5, 5]),
    (np.reshape(MATRIX, (4, 3)), "reshape", [["shape", [HUGE, HUGE]]], [HUGE, HUGE]),
    (np.reshape(MATRIX, (4, 3)), "reshape", [["shape", "ab"]], [4, 3]),
    (np.reshape(MATRIX, (4, 3)), "reshape", [["shape", None]], [4, 3]),
    (np.transpose(MATRIX), "transpose", [["axes", [0, 0]]], [3, 3]),
    (MATRIX[1], "getitem", [["spec", [9]], ["shape", [4]]], [4]),
    (MATRIX[1], "getitem", [["spec", ["array"]], ["shape", [4]]], [4]),
    (MATRIX[1], "getitem", [["spec", ["os.system"]], ["shape", [4]]], [4]),
    (np.argmax(MATRIX, axis=1), "argmax", [["axis", 63]], [3, 4]),
    (np.sinc(MATRIX), "sinc", [["order", "x"]], [3, 4]),
    (MATRIX.astype("f4"), "astype", [["dtype", "<f4"]], [3, 4]),
    (MATRIX.astype("f4"), "astype", [["dtype", {"dtype": "O"}]], [3, 4]),
    (np.einsum("ij->ji", MATRIX), "einsum", [["subscripts", "ij"]], [4, 3]),
    (np.einsum("ij->ji", MATRIX), "einsum", [["subscripts", "ij,k->ji"]], [4, 3]),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "name", "params", "shape"), BAD_PARAMS)
def test_bad_params_are_value_errors(expr, name, params, shape):
    def change(whole, nodes):
        i = next(i for i, row in enumerate(nodes) if row["op"] == name)
        nodes[i] |= {"params": params, "shape": shape}

    with pytest.raises(ValueError, match=r"^from_json: .*at node \d+") as caught:
        from_json(changed(change, expr))
    assert len(str(caught.value).splitlines()) == 1


def test_large_numbers_cost_nothing():
    wide = fg.var("w", (2**20, 2**20))
    program = np.sum(np.reshape(wide.T, (2**40,)) * np.broadcast_to(X, (2**40,))) + wide[5, 7]
    matrix = np.sum(wide @ wide) + np.sum(np.sinc(wide) + np.cumsum(wide, axis=1))
    for expr in (program, matrix):
        assert from_json(to_json(expr)).key == expr.key
    text = to_json(np.sinc(X)).replace('["order", 0]', '["order", 1000000000]')
    assert from_json(text).params == (("order", 1000000000),)


def test_a_contraction_of_all_with_all_is_not_tried():
    letters = "abcdefghijk"
    pairs = [(a, b) for i, a in enumerate(letters) for b in letters[i + 1 :]]
    length = {c: 40 + i for i, c in enumerate(letters)}
    args = [fg.var(a + b, (length[a], length[b])) for a, b in pairs]
    expr = np.einsum(",".join(a + b for a, b in pairs) + "->", *args)
    joined = np.concatenate([fg.var("v", (2,))] * 100_000)
    for program in (expr, joined):
        assert from_json(to_json(program)).key == program.key


def test_a_cut_or_flipped_text_is_read_as_nothing_else():
    expr = np.sum(np.where(MATRIX > 0, MATRIX[1] * 2.5, -MATRIX))
    text = to_json(expr)
    for end in range(0, len(text) - 1, 7):
        with pytest.raises(ValueError, match=r"^from_json: "):
            from_json(text[:end])


@given(st.data())
@settings(max_examples=examples(200))
def test_no_change_of_a_text_does_harm(data):
    expr = np.sum(np.where(MATRIX > 0, MATRIX[1] * 2.5, -np.reshape(MATRIX.T, (3, 4))))
    text = to_json(expr)
    at = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 6))
    new = data.draw(st.text(alphabet=' 0123456789-.eE"[]{},:<f8xnull', max_size=5))
    mangled = text[:at] + new + text[at + length :]
    back, message = read(mangled)
    if back is None:
        assert message.startswith("from_json: ")
        assert len(message.splitlines()) == 1
    else:
        assert from_json(to_json(back)).key == back.key


def read(text):
    """The expression or the message."""
    try:
        return from_json(text), ""
    except ValueError as error:
        return None, str(error)


@st.composite
def programs(draw):
    """A random program: operations of all samples' types on what fits them."""
    exprs = [
        X,
        fg.var("y"),
        fg.const(draw(st.floats())),
        fg.var("w", (2, 3)),
        fg.var("c", (), complex),
    ]
    for _ in range(draw(st.integers(1, 12))):
        name = draw(st.sampled_from(["add", "multiply", "power", "sin", "exp", "sqrt", "negative"]))
        op = all_ops()[name]
        args = [draw(st.sampled_from(exprs)) for _ in range(len(op.edges))]
        expr = op(*args)
        if expr.shape and draw(st.booleans()):
            expr = expr[..., ::2, None].sum(axis=(-2, -1))[1]
        exprs.append(expr)
    return exprs[-1]


@given(programs())
@settings(max_examples=examples(100))
def test_random_programs_come_back(expr):
    assert from_json(to_json(expr)).key == expr.key


@pytest.mark.slow
def test_a_long_program_is_written_and_read_in_linear_time():
    expr = X
    for _ in range(300_000):
        expr = fg.sin(expr)
    assert from_json(to_json(expr)).key == expr.key


STORED = {name: expr for name, expr in ALL.items() if name != "a primitive"}


@pytest.mark.parametrize("name", one_in(3, STORED, start=2))
def test_programs_with_bodies_come_back_with_their_keys(name):
    expr = STORED[name]
    text = to_json(expr)
    back = from_json(text)
    assert list(toposort(back)) == list(toposort(expr))
    assert to_json(back) == text
    json.loads(text, parse_constant=pytest.fail)
    assert np.array_equal(back(**values_of(expr)), expr(**values_of(expr)))
    if "x" in values_of(expr):
        ours, theirs = fg.gradient(back, "x"), fg.gradient(expr, "x")
        assert ours.key == theirs.key


def test_bodies_in_bodies_are_stored_once():
    expr = nested_calls(60)
    text = to_json(expr)
    assert from_json(text).key == expr.key
    assert len(text) < 100_000


def test_no_loop_is_run_by_reading():
    text = to_json(fg.scan(lambda c, _: (np.sin(c), None), X, length=5)[0])
    back = from_json(text.replace("[1, 0, 5, false]", f"[1, 0, {HUGE * HUGE}, false]"))
    loop = dict(back.args[0].params)
    assert loop["spec"].trip_count == HUGE * HUGE
    values = [*loop.values(), (loop["body"],)]
    assert [_is_brief(value) for value in values] == [False, True, False, False]


def test_what_another_process_would_not_find_is_refused():
    with pytest.raises(TypeError, match=r"to_json: .* but got the primitive 'erf', which another"):
        to_json(ALL["a primitive"])
    own = fg.implicit_root(lambda x, a: x * x - a, solver=lambda fun, x: x)
    with pytest.raises(
        TypeError, match=r"implicit_root holds one of your own, .*leave out solver="
    ):
        to_json(own(1.0, X))


def body(entry, value, i=0):
    def change(whole, nodes):
        whole["bodies"][i][entry] = value

    return change


def param(op, key, value):
    def change(whole, nodes):
        row = next(row for row in nodes if row["op"] == op)
        row["params"] = [[k, value if k == key else v] for k, v in row["params"]]

    return change


LOOP, WHILE, RULED = PROGRAMS["scan"], PROGRAMS["while"], PROGRAMS["a rule of one's own"]
BRANCH, CALL, ROOT = PROGRAMS["cond"], PROGRAMS["call that keeps"], PROGRAMS["a root"]
INTEGRAL = PROGRAMS["an integral"]
FLOAT = [[], "<f8"]
BAD_BODIES = [
    (LOOP, body("inputs", [FLOAT]), "an input of the body"),
    (LOOP, body("inputs", [FLOAT, FLOAT, FLOAT, FLOAT]), "operands of types"),
    (LOOP, body("inputs", [FLOAT, FLOAT, [[2], "<f8"]]), "an input of the body"),
    (LOOP, body("inputs", [FLOAT, FLOAT, [[-2], "<f8"]]), "a list of lengths"),
    (LOOP, body("inputs", 3), "lists of inputs and nodes"),
    (LOOP, body("inputs", [3]), "pairs [shape, dtype]"),
    (LOOP, body("outputs", [99]), "places of nodes as outputs"),
    (LOOP, body("outputs", [True]), "places of nodes as outputs"),
    (LOOP, body("outputs", []), "each node once"),
    (LOOP, body("outputs", [0]), "each node once"),
    (LOOP, body("nodes", []), "places of nodes as outputs"),
    (LOOP, body("more", 1), "an object with inputs, nodes, outputs"),
    (LOOP, lambda w, n: w.update(bodies=[]), "at least one body"),
    (LOOP, lambda w, n: w.update(bodies=3), "at least one body"),
    (LOOP, lambda w, n: w["bodies"].append(w["bodies"][0]), "each body once"),
    (LOOP, lambda w, n: w.pop("bodies"), "the place of an earlier body"),
    (LOOP, param("loop", "body", {"body": 1}), "the place of an earlier body"),
    (LOOP, param("loop", "body", {"body": True}), "the place of an earlier body"),
    (LOOP, param("loop", "body", None), "expected a body, a condition or null"),
    (LOOP, param("loop", "cond", {"body": 0}), "a length, or sequences, or a condition"),
    (LOOP, param("loop", "spec", {"loop": [2, 1, 3, False]}), "operands of types"),
    (LOOP, param("loop", "spec", {"loop": [1, 1, 4, False]}), "operands of types"),
    (LOOP, param("loop", "spec", {"loop": [-1, 1, 3, False]}), "states and sequences"),
    (LOOP, param("loop", "spec", {"loop": [1, 9, 3, False]}), "states and sequences"),
    (LOOP, param("loop", "spec", {"loop": [1, 1, 3, 0]}), "a value of a param"),
    (LOOP, param("loop", "spec", {"loop": [1, 1, True, False]}), "a value of a param"),
    (LOOP, param("loop", "spec", [1, 1, 3, False]), "and how it runs"),
    (LOOP, param("pick", "index", 2), "a place in a tuple of 2"),
    (LOOP, param("pick", "index", -1), "a place in a tuple of 2"),
    (LOOP, put(3, "dtype", ["<f8"]), "as many shapes as dtypes"),
    (LOOP, put(3, "dtype", "<f8"), "a list of lengths"),
    (LOOP, put(3, "shape", [[], [4]]), "expected the type (float64, float64[3])"),
    (LOOP, put(4, "op", "sin"), "expected operands that are arrays, but got a tuple"),
    (LOOP, put(0, "shape", [-1]), "a list of lengths"),
    (WHILE, param("loop", "cond", None), "a length, or sequences, or a condition"),
    (WHILE, param("loop", "cond", {"body": 0}), "a condition on the same inputs"),
    (WHILE, param("loop", "body", {"body": 1}), "new states of types"),
    (BRANCH, param("branch", "branches", []), "an index and at least one branch"),
    (BRANCH, param("branch", "branches", [3]), "bodies as branches"),
    (CALL, param("call", "kept", [{"key": "00" * 16}]), "keys of the body's nodes"),
    (CALL, param("call", "kept", [{"key": "zz"}]), "a value of a param"),
    (RULED, param("custom_derivative", "wiring", {"rule": [9, 1, False]}), "results and arguments among"),
    (RULED, param("custom_derivative", "wiring", {"rule": [0, 2, False]}), "expected the type ()"),
    (ROOT, param("implicit", "problem", {"problem": ["eval", 0, 1]}), "a value of a param"),
    (ROOT, param("implicit", "problem", {"problem": ["implicit_root", 0, 2]}), "another type"),
    (ROOT, param("implicit", "problem", {"problem": ["implicit_root", 0, 0]}), "are unknown"),
    (INTEGRAL, param("integral", "options", [["func", 1]]), "values of the options epsabs, epsrel"),
    (INTEGRAL, param("integral", "batch_axes", -1), "limits with the batch axes"),
    (INTEGRAL, param("integral", "batch_axes", 1), "limits with the batch axes"),
    (INTEGRAL, param("integral", "batch_axes", True), "the number of batch axes"),
    (ROOT, param("implicit", "levels", [[3, [True]]]), "the size of each batch"),
    (ROOT, param("implicit", "levels", [[3, [True, True]]]), "operands of types"),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "change", "match"), BAD_BODIES)
def test_bad_bodies_are_value_errors(expr, change, match):
    with pytest.raises(ValueError, match=r"^from_json: ") as caught:
        from_json(changed(change, expr))
    assert match in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400


MANGLED = [to_json(e) for e in (LOOP, BRANCH, CALL, ROOT, GRADIENTS["gradient of while"])]


@given(st.data())
@settings(max_examples=examples(300))
def test_no_change_of_a_text_with_bodies_does_harm(data):
    text = data.draw(st.sampled_from(MANGLED))
    at = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 6))
    new = data.draw(st.text(alphabet=" 0123456789-[]{},truefals", max_size=5))
    back, message = read(text[:at] + new + text[at + length :])
    if back is None:
        assert message.startswith("from_json: ")
        assert len(message.splitlines()) == 1
    else:
        assert from_json(to_json(back)).key == back.key


MATRICES = {
    "square": fg.var("a", (3, 3)),
    "tall": fg.var("a", (4, 3)),
    "wide": fg.var("a", (2, 5), "float32"),
    "stack": fg.var("a", (2, 3, 3)),
    "complex": fg.var("a", (3, 3), "complex64"),
    "empty": fg.var("a", (0, 3, 3)),
}
SQUARE, ANY = ("square", "stack", "complex", "empty"), tuple(MATRICES)


def exponential_of_hermitian(a):
    w, v = np.linalg.eigh(a)
    return fg.simplify((v * np.exp(w)[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2)))


def orthogonal_factor(a):
    u, _, vh = np.linalg.svd(a)
    return fg.simplify(u @ vh)


FACTORIZATIONS = {
    "eig": (lambda a: np.linalg.eig(a)[1], SQUARE),
    "eigh": (lambda a: np.linalg.eigh(a)[1], SQUARE),
    "eigh, upper": (lambda a: np.linalg.eigh(a, "U")[1], SQUARE),
    "eigvalsh": (np.linalg.eigvalsh, SQUARE),
    "function of a hermitian matrix": (exponential_of_hermitian, SQUARE),
    "svd": (lambda a: np.linalg.svd(a, full_matrices=False)[0], ANY),
    "full svd": (lambda a: np.linalg.svd(a[:1])[2], ANY),
    "rate of a rotation": (
        lambda a: rotation_rate_op(a, np.ones((*a.shape[:-2], 1, 1)), rows=3),
        SQUARE,
    ),
    "function of singular values": (orthogonal_factor, SQUARE),
    "svdvals": (np.linalg.svdvals, ANY),
    "nuclear norm": (lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)), ANY),
    "spectral norm": (lambda a: np.linalg.norm(a, 2, axis=(-2, -1)), ANY[:4]),
    "qr": (lambda a: np.linalg.qr(a)[1], ANY),
    "pinv": (np.linalg.pinv, SQUARE),
    "cond": (np.linalg.cond, SQUARE[:2]),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name, (_, kinds) in FACTORIZATIONS.items() for kind in kinds],
)
def test_factorizations_and_their_gradients_come_back(name, kind):
    a = MATRICES[kind]
    expr = FACTORIZATIONS[name][0](a)
    programs = [expr, fg.gradient(np.sum(np.abs(expr) ** 2), a)]
    for program in programs:
        text = to_json(program)
        assert from_json(text).key == program.key
        assert to_json(from_json(text)) == text


BAD_FACTORIZATIONS = [
    (param("eigh", "triangle", "X"), "expected params that fit"),
    (param("eigh", "triangle", 1), "expected params that fit"),
    (put(1, "shape", [[3], [3, 4]]), "expected the type (float64[3], float64[3, 3])"),
    (put(1, "dtype", ["<f8", "<f4"]), "expected the type (float64[3], float64[3, 3])"),
    (put(1, "op", "svd"), "expected operands and params that fit"),
    (put(1, "op", "qr"), "expected operands and params that fit"),
    (put(0, "shape", [3]), "expected"),
]


@pytest.mark.parametrize(("change", "match"), BAD_FACTORIZATIONS)
def test_bad_factorizations_are_value_errors(change, match):
    expr = np.sum(np.linalg.eigh(fg.var("a", (3, 3)))[1])
    with pytest.raises(ValueError, match=r"^from_json: ") as caught:
        from_json(changed(change, expr))
    assert match in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_large_factorization_costs_nothing_to_read():
    a = fg.var("a", (10**5, 10**5))
    for expr in (np.linalg.eigvalsh(a), np.linalg.svdvals(a), np.linalg.qr(a)[1]):
        assert from_json(to_json(expr)).key == expr.key


MARKED = [fg.name(X, "h") * 2, pick_op(together_op(X, MATRIX), index=1)]


@pytest.mark.parametrize("expr", MARKED)
def test_names_and_tuples_come_back(expr):
    assert from_json(to_json(expr)).key == expr.key


@pytest.mark.parametrize("name", one_in(3, SPECIAL, start=1))
def test_special_functions_come_back(name):
    expr = special_program(name).expr
    assert from_json(to_json(expr)).key == expr.key


def test_every_operation_of_the_package_is_among_the_tests():
    exprs = [
        *[special_program(name).expr for name in SPECIAL],
        *[sample_expr(name, i) for name, i in CASES],
        *STORED.values(),
        *MARKED,
        *[program.expr for program in programs_of_readers().values()],
    ]
    found = {node.op.name for program in exprs for node in program.graph.values()}
    # A primitive is refused, in a guarded call, too; an `example` lives no longer than the run of a batch, a
    # `name` than a trace.
    unread = {"foreign", "guarded_call", "example", "name"}
    missing = operation_table.ops.keys() - unread - found
    assert not missing, "add samples to tests/ops/samples.py, or programs to operation_readers.py"
