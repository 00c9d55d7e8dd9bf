"""Numba's settings: the processor, the folder of machine code, and the decorators of loops."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numba
from numba.core.codegen import get_host_cpu_features

HERE = Path(__file__).parent
config: Any = numba.config  # Any: its names are made at run time, and mypy does not see them

# On some processors with AVX-512, LLVM uses 256 of the 512 bits of a register unless told not to.
# A processor that the environment names is left as it is.
if config.CPU_NAME is None and config.CPU_FEATURES is None:
    config.CPU_FEATURES = get_host_cpu_features()
    if "+avx512f" in config.CPU_FEATURES.split(","):
        config.CPU_FEATURES += ",-prefer-256-bit"
LISTS_AVX512 = "+avx512f" in (config.CPU_FEATURES or "").split(",")


def cache_folder() -> Path:
    """Where machine code is kept: as the environment says, else beside the source if possible."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    if os.access(HERE, os.W_OK):
        return HERE / "__pycache__"
    return Path.home() / ".cache" / "pinnlib"


# Numba compiles a loop again only if the file of that loop changes, but loops call functions of
# other files. So each version of this folder has machine code of its own; old code can be deleted.
# The setting holds for the process: functions that a user has compiled later are kept there too.
SOURCE = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")))
VERSION = hashlib.sha256(SOURCE + bytes([LISTS_AVX512])).hexdigest()[:12]
config.CACHE_DIR = str(cache_folder() / VERSION)

compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")
inlined: Any = numba.njit(inline="always", error_model="numpy")
ufunc: Any = numba.vectorize(["float32(float32)", "float64(float64)"], nopython=True, cache=True)
