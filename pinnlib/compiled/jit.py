"""How Numba compiles the loops: for which processor, where to keep the code, without fastmath."""

import hashlib
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.codegen import get_host_cpu_features

NUMBA: Any = config  # mypy does not see its names

# On some processors with AVX-512 LLVM would use half of every register only.
if NUMBA.CPU_NAME is None and NUMBA.CPU_FEATURES is None:
    NUMBA.CPU_FEATURES = get_host_cpu_features()
    if "+avx512f" in NUMBA.CPU_FEATURES:
        NUMBA.CPU_FEATURES += ",-prefer-256-bit"
HAS_AVX512 = "+avx512f" in (NUMBA.CPU_FEATURES or "")

# Numba compiles a loop again if its own file changes; a folder per version of this room serves
# for changes in the other files.
HERE = Path(__file__).parent
SOURCE = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")))
VERSION = hashlib.sha256(SOURCE).hexdigest()[:12]
NUMBA.CACHE_DIR = str(Path(NUMBA.CACHE_DIR or HERE / "__pycache__") / VERSION)

compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")
inlined: Any = numba.njit(inline="always", error_model="numpy")
ufunc: Any = numba.vectorize(["float32(float32)", "float64(float64)"], nopython=True, cache=True)

BLOCK = 128  # points at a time, so that the arrays of a block stay in the cache
