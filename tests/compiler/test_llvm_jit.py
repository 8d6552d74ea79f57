"""Compilation by LLVM: memory."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from funcgrad.compiler.native.llvm_jit import optimize, target_machine

TEXT = """
define double @run(double %x) {
  %y = fmul double %x, %x
  ret double %y
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_optimizing_keeps_no_memory():
    from llvmlite.binding import parse_assembly

    target = target_machine()

    def pages():
        return int(Path("/proc/self/statm").read_text().split()[1])

    def optimized(times):
        for _ in range(times):
            optimize(parse_assembly(TEXT), target)

    optimized(30)
    before = pages()
    optimized(150)
    assert (pages() - before) * 4 < 8 * 150  # kB; a pass manager that is not freed has 27 or more
