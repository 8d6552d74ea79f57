"""Programs kept on disk: warm starts, and entries that are not what they should be."""

import builtins
import os
import pickle
import platform
import subprocess
import sys
from functools import partial
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.disk_cache import cache as store
from funcgrad.compiler.disk_cache import entry_format as entries
from funcgrad.compiler.disk_cache import object_files
from funcgrad.rewrite.simplify import simplify_all
from tests.default_slice import marked_slow
from tests.operation_readers import programs

PROGRAM = """
import numpy as np, funcgrad as fg
from funcgrad.compiler.disk_cache import entry_format as entries
from funcgrad.compiler.disk_cache import object_files
from funcgrad.rewrite import simplify
made = []
plain = entries.write_entry
entries.write_entry = lambda path, *rest: made.append(path) or plain(path, *rest)
A = np.arange(6.0).reshape(2, 3)
def f(x):
    y, _ = fg.scan(lambda c, t: (np.sin(c) * t, c), np.sum(A @ x), np.arange(4.0))
    return fg.cond(y > 0, lambda y: y**2, lambda y: -y, y) + np.sum(np.where(x > 0, x, 0.0))
x = np.array([0.3, -0.2, 0.5])
print(len(made), [float(v) for v in fg.grad(f)(x)], [float(v) for v in fg.jit(fg.grad(f))(x)], len(made))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    return tmp_path


def run(home):
    environment = os.environ | {store.VARIABLE: str(home)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split(" ", 1)


def test_a_second_process_starts_warm_and_agrees(home):
    _, first = run(home)
    entries = sorted(home.iterdir())
    assert entries
    _, second = run(home)
    assert first.rsplit(" ", 1)[0] == second.rsplit(" ", 1)[0]
    assert second.rsplit(" ", 1)[1].strip() == "0"  # nothing was made anew
    assert sorted(home.iterdir()) == entries


def remembered(how, source, make):
    """The outputs of a program of x, as it is made or as it is read."""
    x = fg.var("x")
    return store.remembered(how, lambda: store.source_rows([source], [x]), [x], make).outputs


def derived(home, make):
    x = fg.var("x")
    return remembered("test", x * x + 0, make)


def test_what_is_there_is_read(home):
    x = fg.var("x")
    calls = []

    def make():
        calls.append(1)
        return simplify_all([x * x + 0, x])

    first, second = derived(home, make), derived(home, make)
    assert len(calls) == 1
    assert [e.key for e in first] == [e.key for e in second]


class Evil:
    def __reduce__(self):
        return exec, ("import builtins; builtins.executed = True",)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + b"?",
        lambda content: b"another tool's file",
        lambda content: content[:52] + bytes(32) + content[84:],
        lambda content: content[:20] + bytes(32) + content[52:],
        lambda content: signed(content, pickle.dumps(Evil())),
        lambda content: signed(content, pickle.dumps([1, 2])),
        lambda content: signed(content, b"not a pickle"),
        lambda content: changed(content, operands=[1, 1]),  # of the step itself
        lambda content: changed(content, operands=[-1, 0]),
        lambda content: changed(content, results=(7,)),
        lambda content: changed(content, of_steps=[1, 0]),  # the input does not come first
        lambda content: changed(content, of_steps=[0, 5]),
    ],
)
def test_a_bad_entry_is_ignored_and_written_over(home, spoil):
    x = fg.var("x")

    def make():
        return [x * x]

    derived(home, make)
    (entry,) = home.iterdir()
    good = entry.read_bytes()
    entry.write_bytes(spoil(good))
    assert derived(home, make)[0].key == (x * x).key
    assert not hasattr(builtins, "executed")
    assert entry.read_bytes() == good


def changed(content, **changes):
    """An entry of other numbers, signed."""
    body = dict(zip(("kinds", "of_steps", "operands", "results"), unpickled(content), strict=True))
    for name, numbers in changes.items():
        body[name] = numbers if name == "results" else np.array(numbers, np.int64).tobytes()
    return signed(content, pickle.dumps(tuple(body.values()), protocol=5))


def unpickled(content):
    return pickle.loads(content[entries._START :])


def signed(content, body):
    return entries._head(content[20:52], body) + body


def test_programs_that_differ_in_the_sign_of_a_zero_are_not_mixed_up(home):
    x = fg.var("x")
    made = [remembered("zero", x + zero, lambda zero=zero: [x * zero]) for zero in (0.0, -0.0)]
    assert made[0][0].key == (x * 0.0).key
    assert made[1][0].key == (x * -0.0).key
    assert len(list(home.iterdir())) == 2


def test_steps_are_read_as_they_were_written(home):
    anew = []
    for name, (expr, inputs, *_) in programs().items():
        if name == "leaf":  # steps have no leaves
            continue
        calls = []
        for _ in range(2):
            source = partial(store.source_rows, [expr], inputs)
            made = partial(lambda calls, expr: calls.append(1) or [expr, expr], calls, expr)
            found = store.remembered(name, source, inputs, made)
            assert [e.key for e in found.outputs] == [expr.key] * 2
            assert [e.key for e in found.part((1,)).outputs] == [expr.key]
        anew += [name] if len(calls) > 1 else []
    assert sorted(anew) == ["foreign", "implicit"]  # which hold functions of the user's


def answers(home):
    """Two programs, of two results and of one: as they are made, or as they are read."""
    x = fg.var("x")
    made = []

    def make(*exprs):
        return lambda: made.append(exprs) or list(exprs)

    pair = remembered("pair", x * 3, make(x * x, x))
    single = remembered("single", x, make(np.sin(x)))
    return [[e.key for e in pair], [e.key for e in single]], len(made)


def test_an_entry_under_the_name_of_another_is_not_taken_for_it(home):
    want, _ = answers(home)
    one, other = home.iterdir()
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    assert answers(home) == (want, 2)
    assert (one.read_bytes(), other.read_bytes()) == contents
    assert answers(home) == (want, 0)
    one.write_bytes(contents[1])
    assert answers(home) == (want, 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(home):
    want, _ = answers(home)
    for entry in list(home.iterdir()):
        entry.unlink()
        os.mkfifo(entry)
    assert answers(home) == (want, 2)
    assert all(entry.is_file() for entry in home.iterdir())
    assert answers(home) == (want, 0)


def test_a_directory_in_the_place_of_an_entry_stays_there(home):
    want, _ = answers(home)
    for entry in list(home.iterdir()):
        entry.unlink()
        entry.mkdir()
    assert answers(home) == (want, 2)
    assert len(list(home.iterdir())) == 2  # and nothing that was begun


def test_no_directory_no_file_and_no_variable(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv(store.VARIABLE, str(blocked))
    assert fg.grad(lambda x: x**2 * 1.25)(2.0) == 5.0
    monkeypatch.delenv(store.VARIABLE)
    assert fg.grad(lambda x: x**2 * 2.25)(2.0) == 9.0
    assert blocked.read_text() == "not a directory"


def test_values_that_cannot_be_stored_are_not(home):
    f = fg.primitive(lambda x: np.sin(x), [np.cos], name="f")
    assert fg.grad(lambda x: f(x) * 3.0)(0.0) == 3.0
    assert not [p for p in home.iterdir() if p.stat().st_size == 0]


@pytest.mark.parametrize(
    ("arguments", "expanded"),
    [
        (((2.0, 3.0), 2, (1.0, 10.0)), "(6.0, 23.0, 10.0)"),
        marked_slow((((2.0, 3.0, 1.0, 10.0), 3), "(6.0, 5.0, 1.0, 0.0)")),
    ],
)
def test_what_differs_in_its_settings_alone_is_not_mixed_up(home, arguments, expanded):
    def expand(*arguments):
        code = (
            "import funcgrad as fg\n"
            f"print(fg.taylor(lambda p: p[0] * p[1], {', '.join(map(repr, arguments))}))"
        )
        environment = os.environ | {store.VARIABLE: str(home)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert expand((2.0, 3.0, 1.0, 10.0), 2) == "(6.0, 5.0, 1.0)"
    assert expand(*arguments) == expanded


def test_derivations_are_named_by_what_they_are():
    from funcgrad.autodiff.batching import Batch
    from funcgrad.transforms.jacobian import jacobian_rows
    from funcgrad.transforms.jvp import _jvp
    from funcgrad.transforms.taylor import Expansion

    def local(roots, leaves):
        return roots

    known = [
        _jvp,
        jacobian_rows,
        Batch(2),
        Batch(3),
        *[Expansion(k, d) for k in (1, 2) for d in (True, False)],
    ]
    assert len({store.derivation_name(each, 1) for each in known}) == len(known)
    assert all(store.derivation_name(each, 1) != store.derivation_name(each, 2) for each in known)
    for each in (local, lambda roots, leaves: roots, partial(jacobian_rows, []), Batch(local)):
        assert store.derivation_name(each, 1) is None


def test_what_has_no_name_is_not_stored(home):
    x = fg.var("x")
    made = remembered(None, x, lambda: [x * x])
    assert made[0].key == (x * x).key
    assert not list(home.iterdir())


def identity_of(name):
    x = fg.var(name)
    return entries.identity("as it is", store.source_rows([x], [x]))


def test_an_entry_depends_on_every_file_of_the_package(monkeypatch):
    looked, rglob = [], Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda path, *a: looked.append(path) or rglob(path, *a))
    entries._own_version.cache_clear()
    identity_of("x")
    identity_of("y")
    assert looked == [Path(fg.__file__).parent]


def of_another(monkeypatch, change):
    """The identity of an entry before and after a change of the machine, or of what is installed."""
    entries.machine_and_versions.cache_clear()
    before = identity_of("x")
    with monkeypatch.context() as changed:
        change(changed)
        entries.machine_and_versions.cache_clear()
        after = identity_of("x")
    entries.machine_and_versions.cache_clear()
    assert identity_of("x") == before
    return before, after


@pytest.mark.parametrize("package", ["numpy", "scipy", "llvmlite"])
@pytest.mark.parametrize("version", ["0.0.1", None])
def test_an_entry_depends_on_the_versions_of_what_computes(monkeypatch, package, version):
    installed = metadata.version

    def other(name):
        if name != package:
            return installed(name)
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    before, after = of_another(monkeypatch, lambda m: m.setattr(metadata, "version", other))
    if version or entries._version_of(package):
        assert before != after


def test_an_entry_depends_on_the_processor(monkeypatch):
    for change in (
        lambda m: m.setattr(platform, "machine", lambda: "another"),
        lambda m: m.setattr(sys, "byteorder", "big" if sys.byteorder == "little" else "little"),
        lambda m: m.setattr(entries, "_instruction_sets", lambda: []),
    ):
        before, after = of_another(monkeypatch, change)
        assert before != after


# -- machine code -----------------------------------------------------------------------------------
NATIVE = """
import numpy as np, funcgrad as fg
from funcgrad.compiler.native import llvm_jit
compiled = []
plain = llvm_jit._optimized
llvm_jit._optimized = lambda text, *rest: compiled.append(text) or plain(text, *rest)
A = np.arange(12.0).reshape(3, 4)[:, ::-1] / 7
def f(x):
    step = lambda c, t: (np.sin(A @ c) @ A + t, np.exp(c) @ A.T)
    last, outputs = fg.scan(step, x, np.arange(5.0))
    return np.sum(last) + np.linalg.norm(outputs)
g = fg.jit(fg.grad(f), native=True)
print([float(v).hex() for v in g(np.array([0.3, -0.2, 0.5, 0.1]))])
A[0, 1] = 2.0
print([float(v).hex() for v in g(np.array([0.3, -0.2, 0.5, 0.1]))], len(compiled))
"""


def run_natively(home):
    done = subprocess.run(
        [sys.executable, "-c", NATIVE],
        env=os.environ | {store.VARIABLE: str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    numbers, _, compiled = done.stdout.strip().rpartition(" ")
    return numbers, int(compiled)


def test_a_second_process_runs_the_machine_code_of_the_first(home):
    pytest.importorskip("llvmlite")
    numbers, compiled = run_natively(home)
    assert compiled > 0
    assert run_natively(home) == (numbers, 0)


def code_of(text, make):
    return object_files.remembered_code(text, make)


def never():
    raise AssertionError("the entry was not read")


def test_machine_code_is_found_by_its_text(home):
    assert code_of("a", lambda: b"one") == b"one"
    assert code_of("b", lambda: b"two") == b"two"
    assert (code_of("a", never), code_of("b", never)) == (b"one", b"two")


@pytest.mark.parametrize(
    "spoil", [lambda content: content[:-1], lambda content: content[:-1] + b"?"]
)
def test_damaged_machine_code_is_compiled_again(home, spoil):
    code_of("a", lambda: b"one")
    (entry,) = home.iterdir()
    good = entry.read_bytes()
    entry.write_bytes(spoil(good))
    assert code_of("a", lambda: b"one") == b"one"
    assert entry.read_bytes() == good


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner here")
def test_machine_code_that_others_can_write_is_not_read(home):
    code_of("a", lambda: b"one")
    (entry,) = home.iterdir()
    assert entry.stat().st_mode & 0o077 == 0
    entry.chmod(0o620)
    assert code_of("a", lambda: b"new") == b"new"
    assert entry.stat().st_mode & 0o077 == 0
    mode, place, device, links, _, *rest = entry.stat()
    for user, others in ((os.geteuid(), False), (0, False), (os.geteuid() + 1, True)):
        found = os.stat_result((mode, place, device, links, user, *rest))
        assert entries.others_can_write(found) is others


def test_programs_are_not_read_as_machine_code(home):
    x = fg.var("x")
    derived(home, lambda: [x * x])
    (entry,) = home.iterdir()
    code_of("a", lambda: b"one")
    (other,) = set(home.iterdir()) - {entry}
    other.write_bytes(entry.read_bytes())
    assert code_of("a", lambda: b"one") == b"one"
