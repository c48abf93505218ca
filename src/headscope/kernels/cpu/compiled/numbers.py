"""Exponentials and logarithms that the compiler turns into vector instructions: of base 2, by polynomials."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

LOG_2 = 0.6931471805599453
ONE, ZERO = np.float32(1), np.float32(0)
LOWEST = np.float32(-126)
"""A power of 2 below which a weight is 0."""

ROUNDED = {"reassoc", "contract", "arcp", "nsz"}
"""What may be done to numbers that may be nan: it must be seen afterwards that they were."""
_INT, _FLOAT = ir.IntType(32), ir.FloatType()
_CENTRE = 0x3F2AAAAB
"""2/3 as float32 has it: mantissas are taken from there to 4/3, around 1."""

# log2(1 + f) / f for f from -1/3 to 1/3, at Chebyshev points: log2 is good to 7e-8 in float32.
_C0, _C1, _C2 = np.float32(1.44269505), np.float32(-0.721346541), np.float32(0.480895817)
_C3, _C4, _C5 = np.float32(-0.360789563), np.float32(0.28871829), np.float32(-0.236786641)
_C6, _C7, _C8 = np.float32(0.201699001), np.float32(-0.22222056), np.float32(0.203237192)
# (2^f - 1) / f for f from -1/2 to 1/2, likewise: exp2 is good to rounding.
_E1, _E2, _E3 = np.float32(0.693147182), np.float32(0.240226507), np.float32(0.0555035695)
_E4, _E5, _E6 = np.float32(0.00961805694), np.float32(0.00133908668), np.float32(0.000154614478)
_LEAST = np.float32(2.0**-126)


# In the compiler's own words: numba's integers are of 64 bits, and its loops over them half as fast.
@intrinsic
def _exponent(typing: Any, x: Any) -> Any:
    """How often 2 divides a number, as a float; for 0 about -127."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.sub(builder.bitcast(arguments[0], _INT), _INT(_CENTRE))
        return builder.sitofp(builder.ashr(bits, _INT(23)), _FLOAT)

    return types.float32(types.float32), generate


@intrinsic
def _mantissa(typing: Any, x: Any) -> Any:
    """What is left of it, from 2/3 to 4/3."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.sub(builder.bitcast(arguments[0], _INT), _INT(_CENTRE))
        rest = builder.add(builder.and_(bits, _INT(0x7FFFFF)), _INT(_CENTRE))
        return builder.bitcast(rest, _FLOAT)

    return types.float32(types.float32), generate


@intrinsic
def _nearest(typing: Any, x: Any) -> Any:
    """The nearest whole number, as a float."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic("llvm.rint", [_FLOAT]), [arguments[0]])

    return types.float32(types.float32), generate


@intrinsic
def larger(typing: Any, x: Any, y: Any) -> Any:
    """The larger of two numbers, nan where one is; numba's own `max` is not vectorised."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(_FLOAT, [_FLOAT, _FLOAT])
        return builder.call(builder.module.declare_intrinsic("llvm.maximum", [_FLOAT], form), arguments)

    return types.float32(types.float32, types.float32), generate


@intrinsic
def _power(typing: Any, x: Any) -> Any:
    """2 to the power of a whole number from -126 to 127."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = builder.fptosi(arguments[0], _INT)
        return builder.bitcast(builder.shl(builder.add(whole, _INT(127)), _INT(23)), _FLOAT)

    return types.float32(types.float32), generate


@njit(inline="always", fastmath=True)
def log2(x: Any) -> Any:
    """The logarithm of a number that is 0 or more; of 0 a finite one, so that 0 log 0 is 0."""
    f = _mantissa(x) - ONE
    p = _C8 * f + _C7
    p = p * f + _C6
    p = p * f + _C5
    p = p * f + _C4
    p = p * f + _C3
    p = p * f + _C2
    p = p * f + _C1
    p = p * f + _C0
    return _exponent(x) + f * p


@njit(inline="always", fastmath=ROUNDED)
def exp2(x: Any) -> Any:
    """2 to the power of a number from -126 on; of -126 it is 0."""
    whole = _nearest(x)
    f = x - whole
    p = _E6 * f + _E5
    p = p * f + _E4
    p = p * f + _E3
    p = p * f + _E2
    p = p * f + _E1
    p = p * f + ONE
    return p * _power(whole) - _LEAST
