"""LLVM IR to functions: `llvmlite`, which comes with the extra `fast`, compiles them; `ctypes` calls them.

Nothing depends on it: without llvmlite, or where LLVM refuses a text, programs run as NumPy programs.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.compiler.disk_cache.object_files import remembered_code
from funcgrad.compiler.native.blas import BLAS, LAPACK, NUMPY_BLAS, blas_address
from funcgrad.compiler.native.llvm_writer import array_symbol
from funcgrad.compiler.native.scipy_exports import SPECIAL, special_address
from funcgrad.compiler.native.vector_functions import HIDDEN, LANES_OF, PREFIX, vector_address
from funcgrad.typing import Array


@lru_cache(maxsize=1)
def llvm_available() -> bool:
    """Whether LLVM can compile here, and array objects have their first entry's place where it reads it."""
    if sys.implementation.name != "cpython" or importlib.util.find_spec("llvmlite") is None:
        return False
    probe = np.zeros(3)
    place = ctypes.c_void_p.from_address(id(probe) + object.__basicsize__).value
    return bool(place == probe.__array_interface__["data"][0])


_lock = threading.Lock()


def target_machine() -> Any:
    """A machine to compile for; an engine takes it over, so each has its own."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(**target_options())


def target_options() -> dict[str, Any]:
    """The processor that machine code is compiled for, with addresses of 64 bits."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    cpu = llvm.get_host_cpu_name()
    return {"cpu": cpu, "features": features, "opt": 2, "codemodel": "jitdefault", "jit": True}


def optimize(module: Any, target: Any, arrays: bool = True) -> None:
    """Run LLVM's passes on a module, for a target machine.

    Code on numbers alone is not put into vectors: it waits for one number after the other, and a step of
    Runge-Kutta on two numbers takes 1.4 times as long if its numbers are moved into vectors and back.

    A pass manager can run once: it hands its passes over. Closing it does not free it, since its class takes
    the empty method of `ObjectRef` for that, and 27 kB or more a compilation would be lost.
    """
    import llvmlite.binding as llvm
    from llvmlite.binding import ffi

    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization, options.slp_vectorization = True, arrays
    builder = llvm.create_pass_builder(target, options)
    passes = builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
        passes.detach()


def _optimized(text: str, target: Any, arrays: bool) -> Any:
    """The module of a text after LLVM's passes.

    LLVM 22 may use values before it defines them where it puts code without loops into vectors, and code
    generation ends the process for a module that is not valid; so the result is verified as well.

    Raises:
        RuntimeError: the text, or what LLVM made of it, is not valid.
    """
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    optimize(module, target, arrays)
    module.verify()
    return module


def compile_llvm(
    text: str,
    called: Iterable[str],
    operands: int,
    kept: Sequence[Array],
    arrays: bool = True,
    integers: int = 4,
) -> Callable[..., int]:
    """The function ``run`` of a text: so many integers and objects to an integer.

    It keeps the arrays whose addresses the text has symbols for. The machine code is read from the disk
    cache, if there is one and another process has compiled the text.

    Raises:
        RuntimeError: LLVM refuses the text, or C has no function of a name that is ``called``.
    """
    import llvmlite.binding as llvm

    with _lock:
        target = target_machine()
        for name in called:
            if not name.startswith("llvm."):
                llvm.add_symbol(name, _address(name))
        # (Symbols are the process's, and found when the code is linked, below.)
        for place, array in enumerate(kept):
            llvm.add_symbol(array_symbol(place), array.__array_interface__["data"][0])
        code = remembered_code(
            f"{llvm.llvm_version_info} {target_options()} {arrays} {text}",
            lambda: _object_file(text, target, arrays),
        )
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address("run")
    kinds = [ctypes.c_int64] * integers + [ctypes.py_object] * operands
    run: Any = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(address)
    run.engine = engine, kept  # the machine code lives as long as the engine
    found: Callable[..., int] = run
    return found


def _object_file(text: str, target: Any, arrays: bool) -> bytes:
    """The machine code of a text, with symbols for what it calls and the arrays that it reads.

    Raises:
        RuntimeError: LLVM refuses the text.
    """
    try:
        module = _optimized(text, target, arrays)
    except RuntimeError:
        module = _optimized(text, target, arrays=False)
    code: bytes = target.emit_object(module)
    return code


def _address(name: str) -> int:
    if name.startswith((NUMPY_BLAS, BLAS, LAPACK)):
        return blas_address(name)
    if name.startswith(SPECIAL):
        return special_address(name)
    if name.startswith(PREFIX):
        return vector_address(name)
    name = name.removeprefix(LANES_OF).removeprefix("one.").removeprefix(HIDDEN)
    try:
        place = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError) as error:
        raise RuntimeError(f"llvm: expected C to have {name}, but it has not") from error
    return place or 0
