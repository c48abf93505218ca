"""The second road: attention modules that take the softmax themselves, outside of transformers' attention interface.

DeBERTa, MPNet, BLOOM, XLNet and their kin have no attention function that could be exchanged. Inside such a module all
torch functions are watched instead: the softmax whose result is the attention map, and the product of that map with
the values. There a call is handed on as the interface would: the map and the values are the operands of the product,
what the heads give is its result, and what comes back takes its place. Which softmax it is, a short forward pass
tells, in which the model also returns its maps.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from headscope.errors import CaptureError
from headscope.trace.call import AttentionCall

_SOFTMAX = {functional.softmax, torch.softmax, torch.special.softmax, Tensor.softmax}
_EINSUM = torch.einsum
_PRODUCTS = {torch.matmul, torch.bmm, Tensor.matmul, Tensor.bmm, Tensor.__matmul__, _EINSUM}
_ADDED_PRODUCTS = {torch.baddbmm, Tensor.baddbmm}
"""Their first operand is added to the product of the other two."""


@dataclass(frozen=True)
class Site:
    """A module that computes attention, and which softmax of its forward pass that is."""

    module: str
    """Its name in the network's core."""
    softmax: int
    heads: int
    scale: float | None = None
    """What its products of queries and keys are multiplied with; None where scores are more than that and position."""


Reach = Callable[[nn.Module, Callable[[], AttentionCall]], AttentionCall | None]
"""Asked at every call of a site; answers with what became of it, or None where nobody wants it."""


class _Within(TorchFunctionMode):
    """Watches one forward pass of an attention module."""

    def __init__(self, module: nn.Module, sites: Mapping[int, Site], reach: Reach) -> None:
        super().__init__()
        self._module, self._sites, self._reach = module, sites, reach
        self._count = 0
        self._products: list[tuple[Any, tuple[Any, ...]]] = []
        self._site: Site | None = None
        self._scores: Tensor | None = None
        self._map: list[Tensor] = []
        """The map under all its names: what dropout, views and casts make of it."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in _SOFTMAX:
            site = self._sites.get(self._count)
            self._count += 1
            if site is not None:
                self._site, self._scores, self._map = site, args[0], [result]
        elif func in _PRODUCTS and self._is_map(_operands(func, args)[0]):
            return self._mixed(func, args, result)
        elif any(map(self._is_map, args)) and isinstance(result, Tensor):
            if result.numel() == self._map[0].numel():
                self._map.append(result)
        elif func in _PRODUCTS | _ADDED_PRODUCTS and not self._map:
            self._products.append((func, (*args, *(kwargs or {}).values())))  # BLOOM names the operands
        return result

    def _is_map(self, operand: Any) -> bool:
        return any(operand is known for known in self._map)

    def _mixed(self, func: Any, args: tuple[Any, ...], result: Tensor) -> Tensor:
        """What becomes of the product of the map and the values."""
        site, scores, products = self._site, self._scores, self._products
        assert site is not None
        assert scores is not None
        self._map, self._products = [], []
        layout = _Layout.of(func, args, site.heads)
        called = self._reach(
            self._module, lambda: _call(self._module, site, layout, (args, result, scores), products)
        )
        return result if called is None else layout.back(called.output, result)


def _call(
    module: nn.Module,
    site: Site,
    layout: "_Layout",
    seen: tuple[tuple[Any, ...], Tensor, Tensor],
    products: Sequence[tuple[Any, tuple[Any, ...]]],
) -> AttentionCall:
    args, result, scores = seen
    weights, value = layout.operands(args)
    shape = weights.shape
    query, key = _query_and_key(products, shape, site) if site.scale is not None else (None, None)
    told = query is not None and key is not None
    nothing = weights.new_empty(0)
    return AttentionCall(
        module,
        weights,
        layout.output(result),
        query if query is not None else nothing,
        key if key is not None else nothing,
        value,
        None,
        scaling=site.scale,
        softmax_input=scores.reshape(shape),
        scores_unknown=""
        if told
        else f"{type(module).__name__} adds something to the products of queries and keys that depends on the tokens, "
        "so its scores are not made of neurons alone",
    )


@dataclass(frozen=True)
class _Layout:
    """How the product of map and values has its dimensions, and back to (text, head, …)."""

    heads: int
    names: tuple[str, str, str] | None = None
    """The letters of an einsum: of the map, the values and the result."""

    @classmethod
    def of(cls, func: Any, args: tuple[Any, ...], heads: int) -> "_Layout":
        if func is not _EINSUM:
            return cls(heads)
        given, result = args[0].replace(" ", "").split("->")
        first, second = given.split(",")
        return cls(heads, (first, second, result))

    def operands(self, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        """(text, head, query, key) the map and (text, group, key, dim) the values."""
        if self.names is None:
            return self._by_head(args[0]), self._by_head(args[1])
        weights, value = _einsum_operands(args)
        text, head, _, key = tuple(self.names[0])
        return weights, _ordered(value, self.names[1], text, head, key)

    def output(self, result: Tensor) -> Tensor:
        """(text, query, head, dim)."""
        if self.names is None:
            return self._by_head(result).transpose(1, 2)
        text, head, query, _ = tuple(self.names[0])
        return _ordered(result, self.names[2], text, query, head)

    def back(self, output: Tensor, result: Tensor) -> Tensor:
        """What heads give, (text, query, head, dim), as the product had it."""
        if self.names is None:
            return output.transpose(1, 2).reshape(result.shape).to(result.dtype)
        text, head, query, _ = tuple(self.names[0])
        own = _letters(self.names[2], text, query, head)
        return output.permute([own.index(letter) for letter in self.names[2]]).to(result.dtype)

    def _by_head(self, tensor: Tensor) -> Tensor:
        """(text, head or group, …) of what may have texts and heads in one dimension."""
        return tensor if tensor.dim() == 4 else tensor.view(-1, self.heads, *tensor.shape[1:])


def _operands(func: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return _einsum_operands(args) if func is _EINSUM else args


def _einsum_operands(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(args[1]) if isinstance(args[1], list | tuple) else args[1:]


def _letters(names: str, *order: str) -> str:
    """The letters in this order, and the one that is left."""
    (rest,) = set(names) - set(order)
    return "".join(order) + rest


def _ordered(tensor: Tensor, names: str, *order: str) -> Tensor:
    return tensor.permute([names.index(letter) for letter in _letters(names, *order)])


def _query_and_key(
    products: Sequence[tuple[Any, tuple[Any, ...]]], shape: torch.Size, site: Site
) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """(text, head, query, neuron) and (text, group, key, neuron): the first product of the map's size."""
    texts, heads, queries, keys = shape
    for func, args in products:
        if func is _EINSUM:
            sides = _einsum_sides(args)
        else:
            first, second = args[1:3] if func in _ADDED_PRODUCTS else args[:2]
            layout = _Layout(site.heads)
            if not all(isinstance(side, Tensor) and side.dim() in (3, 4) for side in (first, second)):
                continue
            if any(side.dim() == 3 and len(side) % site.heads for side in (first, second)):
                continue
            sides = layout._by_head(first), layout._by_head(second).transpose(-1, -2)
        if sides is None:
            continue
        query, key = sides
        if query.shape[:3] == (texts, heads, queries) and key.shape[2] == keys and heads % key.shape[1] == 0:
            return query, key
    return None, None


def _einsum_sides(args: tuple[Any, ...]) -> tuple[Tensor, Tensor] | None:
    given, result = args[0].replace(" ", "").split("->")
    first, second = given.split(",")
    if len(result) != 4 or {len(first), len(second)} != {4}:
        return None
    text, head, query, key = tuple(result)
    if not {text, head, query} <= set(first) or not {text, head, key} <= set(second):
        return None
    one, other = _einsum_operands(args)
    return _ordered(one, first, text, head, query), _ordered(other, second, text, head, key)


_running = threading.local()
_installed: dict[int, int] = {}
"""How often the modules (by their id) are being watched: nested contexts watch once."""


@contextmanager
def softmax_road(network: nn.Module, sites: Sequence[Site], reach: Reach) -> Iterator[None]:
    """Inside, `reach` is asked at every call of these sites of the network."""
    by_module: dict[str, dict[int, Site]] = {}
    for site in sites:
        by_module.setdefault(site.module, {})[site.softmax] = site
    with ExitStack() as hooks:
        for name, own in by_module.items():
            _watch(network.get_submodule(name), own, reach, hooks)
        yield


def _watch(module: nn.Module, sites: Mapping[int, Site], reach: Reach, hooks: ExitStack) -> None:
    key = id(module)
    _installed[key] = _installed.get(key, 0) + 1
    hooks.callback(_forget, key)
    if _installed[key] > 1:
        return

    def begin(module: nn.Module, arguments: Any) -> None:
        if not hasattr(_running, "modes"):
            _running.modes = []
        mode = _Within(module, sites, reach)
        mode.__enter__()  # type: ignore[no-untyped-call]  # of torch
        _running.modes.append(mode)

    def end(module: nn.Module, arguments: Any, output: Any) -> None:
        if getattr(_running, "modes", None):
            _running.modes.pop().__exit__(None, None, None)

    hooks.callback(module.register_forward_pre_hook(begin).remove)
    hooks.callback(module.register_forward_hook(end, always_call=True).remove)


def _forget(key: int) -> None:
    _installed[key] -= 1
    if not _installed[key]:
        del _installed[key]


class _Softmaxes(TorchFunctionMode):
    """Keeps what every softmax of a forward pass gave, and the module that called it."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self._names = {module: name for name, module in network.named_modules()}
        self._open: list[tuple[str, list[Tensor]]] = []
        self.results: list[tuple[str, int, Tensor, Tensor]] = []
        """Module, number within its forward pass, and (…, key) what it was given and gave."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in _SOFTMAX and self._open:
            name, results = self._open[-1]
            self.results.append((name, len(results), args[0], result))
            results.append(result)
        return result

    @contextmanager
    def following(self) -> Iterator[None]:
        """Inside, it is known which module runs; nn.Softmax is a part of the one that has it."""
        with ExitStack() as hooks:
            for module in self._names:
                if isinstance(module, nn.Softmax):
                    continue
                hooks.callback(module.register_forward_pre_hook(self._enter).remove)
                hooks.callback(module.register_forward_hook(self._leave, always_call=True).remove)
            yield

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        self._open.append((self._names[module], []))

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if self._open:
            self._open.pop()


def find_sites(network: nn.Module, run: Callable[[], Sequence[Tensor]], rounding: float) -> tuple[Site, ...]:
    """The sites whose softmax gives the maps (text, head, query, key) that `run` returns of one forward pass.

    Raises CaptureError, in words, where a map is not what a softmax gave.
    """
    softmaxes = _Softmaxes(network)
    with softmaxes.following(), softmaxes:
        maps = run()
    left = list(softmaxes.results)
    sites: dict[Site, None] = {}
    for number, weights in enumerate(maps):
        # SqueezeBERT returns the scores for maps.
        place = next(
            (at for at, (*_, scores, given) in enumerate(left) if _equal((given, scores), weights, rounding)),
            None,
        )
        if place is None:
            raise CaptureError(f"its attention map {number} is not what a softmax gave")
        module, softmax, *_ = left.pop(place)
        sites[Site(module, softmax, weights.shape[1], scale=1.0)] = None
    return tuple(sites)


def _equal(either: Sequence[Tensor], weights: Tensor, rounding: float) -> bool:
    return any(
        tensor.numel() == weights.numel()
        and tensor.shape[-2:] == weights.shape[-2:]
        and torch.allclose(
            tensor.reshape(weights.shape).float(), weights.float(), rtol=0, atol=rounding, equal_nan=True
        )
        for tensor in either
    )


def scale_of(call: AttentionCall) -> float | None:
    """What the products of a call's queries and keys are multiplied with, from two texts of one length.

    What a score has beside the product must depend on position alone, and so be the same in both texts: the difference
    of their scores is then the difference of their products, times the scale. None where it is not.
    """
    if call.softmax_input is None or call.query.numel() == 0:
        return None
    per_group = call.query.shape[1] // call.key.shape[1]
    products = call.query.double() @ call.key.double().repeat_interleave(per_group, 1).mT
    visible = call.visible.all(0).expand(products.shape[1:])
    scores = call.softmax_input.double()
    other, own = (scores[0] - scores[1])[visible], (products[0] - products[1])[visible]
    if not own.any():
        return None
    scale = float((other * own).sum() / (own * own).sum())
    apart = (other - scale * own).abs().amax() / other.abs().amax().clamp(min=1e-6)
    if float(apart) >= 1e-3:
        return None
    usual = float(call.query.shape[-1] ** -0.5), 1.0
    return next((exact for exact in usual if abs(scale / exact - 1) < 1e-4), scale)
