"""States of shards as bytes, and back: arrays in NumPy's own format beside a JSON tree, nothing that can run code.

A state is read back into one like it that has counted nothing. What says only what is counted (a grid, a class, a
function) is taken from that one and never from the bytes; what was counted is exact to the bit.
"""

import io
import json
import sys
import types
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

S = TypeVar("S")

_TREE = "tree"
_MISSING = object()
_OWN = "headscope."
_SHORT_INT = 1 << 62
_COLLECTIONS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set}


class StateError(Exception):
    """Bytes that are not a state like the one asked for."""


def dump_state(state: object) -> bytes:
    """The state as the bytes of an .npz file."""
    arrays: list[np.ndarray[Any, Any]] = []
    tree = json.dumps(_plain(state, arrays), separators=(",", ":"))
    file = io.BytesIO()
    named = {f"a{number}": array for number, array in enumerate(arrays)}
    np.savez(file, allow_pickle=False, **{_TREE: np.frombuffer(tree.encode(), np.uint8)}, **named)
    return file.getvalue()


def load_state(data: bytes, like: S) -> S:
    """The state that was dumped; `like` has counted nothing, and is changed. StateError where it is another kind."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            tree = json.loads(arrays[_TREE].tobytes())
            return cast(S, _restored(tree, arrays, like))
    except StateError:
        raise
    except Exception as error:  # whatever zip, NumPy and JSON raise for bytes that are none of theirs
        raise StateError(f"{type(error).__name__}: {error}") from error


def kind_of(state: object) -> str:
    """A short hash of what a state counts, for one that has counted nothing: equal for equal kinds."""
    arrays: list[np.ndarray[Any, Any]] = []
    tree = json.dumps(_plain(state, arrays))
    shapes = [f"{array.dtype.str}{array.shape}" for array in arrays]
    return sha256(f"{tree}{shapes}".encode()).hexdigest()[:16]


def _plain(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:  # noqa: PLR0911  (one for each kind)
    """The value as JSON takes it: plain ones as they are, all others as a list that begins with what they are."""
    match value:
        case None | bool() | str() | float():
            return value
        case int():  # Python writes no decimal numbers of thousands of digits
            return value if abs(value) < _SHORT_INT else ["int", hex(value)]
        case bytes():
            return ["bytes", value.hex()]
        case Tensor():
            return ["tensor", _kept(value, arrays), str(value.dtype).removeprefix("torch.")]
        case np.ndarray():
            arrays.append(value)
            return ["array", len(arrays) - 1]
        case tuple() if hasattr(value, "_fields"):
            return ["named", _name(type(value)), [_plain(entry, arrays) for entry in value]]
        case list() | tuple():
            return [type(value).__name__, [_plain(entry, arrays) for entry in value]]
        case set():
            return ["set", [_plain(entry, arrays) for entry in sorted(value)]]
        case Mapping():
            return ["dict", [[_plain(key, arrays), _plain(value[key], arrays)] for key in value]]
        case type() | types.FunctionType() | types.MethodType() | range():
            return ["same", getattr(value, "__qualname__", repr(value))]
        case _:
            fields = {name: _plain(field, arrays) for name, field in vars(value).items()}
            return ["object", _name(type(value)), fields]


def _restored(plain: Any, arrays: Mapping[str, np.ndarray[Any, Any]], like: Any = _MISSING) -> Any:  # noqa: PLR0911
    if not isinstance(plain, list):
        return plain
    match plain:
        case ["int", str(digits)]:
            return int(digits, 16)
        case ["bytes", str(digits)]:
            return bytes.fromhex(digits)
        case ["tensor", int(number), str(dtype)]:
            return _tensor(arrays[f"a{number}"], dtype)
        case ["array", int(number)]:
            return arrays[f"a{number}"]
        case ["named", str(name), list(entries)]:
            return tuple.__new__(_class(name), [_restored(entry, arrays) for entry in entries])
        case ["list" | "tuple" | "set" as kind, list(entries)]:
            is_alike = isinstance(like, list | tuple) and len(like) == len(entries)
            alike = like if is_alike else [_MISSING] * len(entries)
            both = zip(entries, alike, strict=True)
            return _COLLECTIONS[kind](_restored(entry, arrays, own) for entry, own in both)
        case ["dict", list(pairs)]:
            known = like if isinstance(like, Mapping) else {}
            keys = [_restored(key, arrays) for key, _ in pairs]
            return {
                key: _restored(entry, arrays, known.get(key, _MISSING))
                for key, (_, entry) in zip(keys, pairs, strict=True)
            }
        case ["same", str(name)]:
            if like is _MISSING or getattr(like, "__qualname__", repr(like)) != name:
                raise StateError(f"it counts by {name}")
            return like
        case ["object", str(name), dict(fields)]:
            return _object(name, fields, arrays, like)
    raise StateError(f"it holds an unknown entry, {str(plain)[:40]!r}")


def _object(name: str, fields: dict[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], like: Any) -> Any:
    """An object with these attributes. No code of its class is run."""
    if like is not _MISSING and _name(type(like)) != name:
        raise StateError(f"it is of the kind {name}, expected is {_name(type(like))}")
    kind = _class(name) if like is _MISSING else type(like)
    mine = {} if like is _MISSING else vars(like)
    restored = object.__new__(kind)
    vars(restored).update(
        {field: _restored(entry, arrays, mine.get(field, _MISSING)) for field, entry in fields.items()}
    )
    return restored


def _kept(tensor: Tensor, arrays: list[np.ndarray[Any, Any]]) -> int:
    tensor = tensor.detach().cpu()
    if tensor.dtype is torch.bfloat16:  # which NumPy has not
        tensor = tensor.view(torch.int16)
    arrays.append(tensor.numpy())
    return len(arrays) - 1


def _tensor(array: np.ndarray[Any, Any], dtype: str) -> Tensor:
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> Any:
    """One of headscope's own classes that is loaded already."""
    module, _, qualified = name.partition(":")
    found: Any = sys.modules.get(module) if module.startswith(_OWN) else None
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or found.__module__ != module:
        raise StateError(f"it holds a {name}, which is no part of a state")
    return found
