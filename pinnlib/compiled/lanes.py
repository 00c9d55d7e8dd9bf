"""fma, bit patterns, and long vectors of float32 or float64, for Numba's compiler.

Numba has none of these. The functions below emit LLVM code whose result IEEE 754 fixes. LLVM splits
a vector that is longer than a register. On a processor without fma instructions it calls `fma` of
the C library, which also rounds once.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_jitable, register_model
from numba.np.arrayobj import make_array

from pinnlib.compiled.jit import LISTS_AVX512


@register_jitable
def vector_length(itemsize: int) -> int:
    """Numbers per vector, by their size in bytes: the fastest; results do not depend on it."""
    if itemsize == 4:
        return 32 if LISTS_AVX512 else 16
    return 8


class Vector(types.Type):
    """The Numba type of a vector of floats."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.length = vector_length(element.bitwidth // 8)
        super().__init__(name=f"Vector({element}, {self.length})")

    @property
    def llvm(self) -> ir.VectorType:
        single = self.element == types.float32
        return ir.VectorType(ir.FloatType() if single else ir.DoubleType(), self.length)


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """How Numba keeps a Vector: as one LLVM value."""

    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, vector.llvm)


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c with one rounding, for numbers."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, a, a), emit


@intrinsic
def float_to_bits(typing: Any, x: Any) -> Any:
    """The 64 bits of a float64 as an integer."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), emit


@intrinsic
def bits_to_float(typing: Any, bits: Any) -> Any:
    """The float64 of 64 bits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), emit


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = make_array(array_type)(context, builder, array).data
    vector = Vector(array_type.dtype).llvm
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """The vector array[index], array[index + 1], … of a contiguous one-dimensional array."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = builder.load(_pointer(context, builder, array, *arguments))
        vector.align = array.dtype.bitwidth // 8
        return vector

    return Vector(array.dtype)(array, types.intp), emit


@intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Any:
    """Write a vector to array[index], array[index + 1], …"""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, values = arguments[:2], arguments[2]
        stored = builder.store(values, _pointer(context, builder, array, *address))
        stored.align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), emit


@intrinsic
def broadcast(typing: Any, x: Any) -> Any:
    """The vector x, x, …"""
    vector = Vector(x)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(32)
        empty = ir.Constant(vector.llvm, ir.Undefined)
        first = builder.insert_element(empty, arguments[0], ir.Constant(integer, 0))
        zeros = ir.Constant(ir.VectorType(integer, vector.length), [0] * vector.length)
        return builder.shuffle_vector(first, empty, zeros)

    return vector(x), emit


@intrinsic
def vector_fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c with one rounding, for vectors."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(a.llvm, [a.llvm] * 3)
        name = f"llvm.fma.v{a.length}f{a.element.bitwidth}"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, arguments)

    return a(a, a, a), emit
