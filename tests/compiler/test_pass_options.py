"""The pipeline's switches: passes left out by name, and the verifier after every pass."""

import os
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler import pass_options
from funcgrad.compiler.flat_program import flatten_program, source_text
from funcgrad.compiler.numpy import buffer_assignment
from funcgrad.compiler.numpy.numpy_pipeline import STEP_PASSES, compile_arrays, run_step_passes
from funcgrad.compiler.pass_options import PASSES, PassOptions, from_environment
from funcgrad.compiler.passes.scatter_to_gather import scatter_to_gather
from funcgrad.compiler.passes.softmax_sharing import share_exponentials
from funcgrad.compiler.program import run_expression_passes
from funcgrad.compiler.verify.failure import VerifyError


def test_passes_are_left_out_by_name():
    x = fg.var("x", 200_000)
    roots = [np.sin(np.exp(x)) * x]
    values = np.linspace(0.0, 1.0, 200_000)
    whole = compile_arrays(roots, [x], PassOptions())
    part = compile_arrays(roots, [x], PassOptions(frozenset({"fusion"})))
    assert "each_block" in source_text(whole)
    assert "each_block" not in source_text(part)
    np.testing.assert_array_equal(whole(values), part(values))


@pytest.mark.parametrize("name", STEP_PASSES)
def test_a_pass_over_steps_is_left_out(name):
    x = fg.var("x", 5)
    flat = flatten_program([fg.softplus(x) * fg.sigmoid(x) - np.sum(x * 2.0)], [x])
    rest = [run for other, run in STEP_PASSES.items() if other != name]
    assert run_step_passes(flat, PassOptions(frozenset(PASSES))) == flat
    found = flat
    for run in rest:
        found = run_step_passes(run(found), PassOptions(frozenset(PASSES)))
    assert run_step_passes(flat, PassOptions(frozenset({name}))).steps[-1].op is found.steps[-1].op


def test_a_pass_over_expressions_is_left_out():
    x = fg.var("x", 3)
    roots = [np.exp(x - fg.logsumexp(x))]
    passes = {"softmax_sharing": share_exponentials, "scatter_to_gather": scatter_to_gather}
    (found,) = run_expression_passes(passes, roots, [x])
    assert found.key == share_exponentials(roots)[0].key != roots[0].key
    without = PassOptions(frozenset({"softmax_sharing"}))
    assert run_expression_passes(passes, roots, [x], without) == roots


def test_a_broken_pass_over_expressions_is_found():
    x = fg.var("x", 3)
    passes = {"softmax_sharing": lambda roots: [np.sum(root) for root in roots]}
    with pytest.raises(VerifyError, match="softmax_sharing"):
        run_expression_passes(passes, [np.exp(x)], [x], PassOptions(verify=True))


def test_environment_variables_choose():
    assert from_environment({}) == PassOptions()
    assert from_environment({"FUNCGRAD_VERIFY": "1"}).verify
    assert not from_environment({"FUNCGRAD_VERIFY": "0"}).verify
    with pytest.raises(
        ValueError, match=r"FUNCGRAD_WITHOUT: expected passes among .*, but got inlining"
    ):
        from_environment({"FUNCGRAD_WITHOUT": "fusion,inlining"})


def test_a_broken_pass_is_found_as_it_runs(monkeypatch):
    x = fg.var("x", (3, 4))
    e = np.exp(x)
    roots = [np.sum(np.sin(e) + e * np.cos(e))]
    compile_arrays(roots, [x], PassOptions(verify=True))

    def taken_too_soon(self, i, call):  # the array of an operand that is still read
        found = [k for k in call.operands if self.owns(k) and self.plan.calls[k].type == call.type]
        return self.names[found[0]] if found else None

    monkeypatch.setattr(buffer_assignment._Assignment, "place", taken_too_soon)
    compile_arrays(roots, [x], PassOptions())
    with pytest.raises(VerifyError, match="numpy_codegen, "):
        compile_arrays(roots, [x], PassOptions(verify=True))


def test_the_verifier_runs_where_the_environment_asks_for_it():
    code = """
import numpy as np, funcgrad as fg
f = fg.grad(lambda w, xs: np.sum(fg.scan(lambda h, x: (np.tanh(h + x @ w), h), np.zeros(2), xs)[1]))
run = fg.jit(f)
for _ in range(4): found = run(np.ones((3, 2)), np.ones((5, 3)))
import sys
print("funcgrad.compiler.verify.verify_memory" in sys.modules, found.shape)
"""
    given = os.environ | {pass_options.VERIFY: "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=given, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True (3, 2)\n", done.stderr


def test_a_pass_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"runs: expected a pass among .*, but got 'typo'"):
        PassOptions().runs("typo")
