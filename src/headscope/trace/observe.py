"""The one hook: watching, editing and differentiating attention while the real model runs.

transformers lets a model's attention be computed by a registered function. Ours calls the model's *own* eager
function, so relative biases, soft caps and sinks stay exact, and hands what it did to whoever asked for it.
Calls that nobody asked for take the road they would have taken without us, so that a changed model is not slow.
The mask function of the same name must be registered too: without it the mask silently becomes None and a
decoder sees the future.
"""

import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import (
    bidirectional_mask_function,
    causal_mask_function,
    eager_mask,
    sdpa_mask,
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headscope.errors import CaptureError
from headscope.models.adapters import adapter_for
from headscope.models.load import quiet_transformers
from headscope.trace.call import AttentionCall, AttentionInputs
from headscope.trace.softmax import Site, softmax_road

NAME = "headscope"
_EAGER = "eager_attention_forward"
_FAST = "sdpa"
"""The one other attention function that takes the masks of the eager one."""

# What attention functions are given that an `AttentionInputs` has too, or that changes nothing in what they do here.
_KNOWN = frozenset(
    (
        *("scaling", "softcap", "position_bias", "s_aux"),
        *("dropout", "is_causal", "sliding_window", "position_ids", "cache_position", "use_cache"),
        "output_attentions",
    )
)

# In the order of a forward pass, as far as stacks go: the encoder is done before the decoder starts.
_OUTPUTS = ("encoder_attentions", "attentions", "decoder_attentions", "cross_attentions")

Watcher = Callable[[Tensor], None]
Handler = Callable[[AttentionCall], AttentionCall]


@dataclass(frozen=True)
class Replacement:
    """Computes a call's output (text, query, head, dim) in place of the model's own function."""

    attend: Callable[[AttentionInputs], Tensor]


Interceptor = Callable[[nn.Module], Handler | Replacement | None]
"""Asked at every attention call of its network, in order; answers with what is to be done with it, or None."""


@dataclass(frozen=True, eq=False)
class _Registration:
    modules: frozenset[int]
    interceptor: Interceptor
    edit: str | None


# Edits hold in all threads, since all threads share the network; who watches sees the own thread's calls only.
_everywhere: list[_Registration] = []
_here: ContextVar[tuple[_Registration, ...]] = ContextVar("headscope_interceptors", default=())
_suspended: ContextVar[bool] = ContextVar("headscope_edits_suspended", default=False)

# The attention function is a setting of the network, seen by all threads: only one may have it changed at a time.
_changing: defaultdict[int, threading.RLock] = defaultdict(threading.RLock)
"""By the ids of configurations; parts of a network share them."""
_own_names: dict[int, str] = {}
"""The attention function each changed configuration (by its id) had before."""


@contextmanager
def intercepting(
    network: PreTrainedModel,
    interceptor: Interceptor,
    *,
    edit: str | None = None,
    sites: Sequence[Site] = (),
) -> Iterator[None]:
    """Inside, `interceptor` is asked at every attention call of `network`; `sites` are those of the second road.

    `edit` says in words what it changes, if it does; an edit acts in other threads too. Edits come before those who
    watch, and outer ones before inner ones, so that who watches sees what was made of the attention. The network's
    mode is left alone, and gradients flow.
    """
    registration = _Registration(frozenset(map(id, network.modules())), interceptor, edit)
    with _reached(network, sites):
        if edit is not None:
            _everywhere.append(registration)
        token = None if edit is not None else _here.set((*_here.get(), registration))
        try:
            yield
        finally:
            if token is None:
                _everywhere.remove(registration)
            else:
                _here.reset(token)


@contextmanager
def _reached(network: PreTrainedModel, sites: Sequence[Site]) -> Iterator[None]:
    """Inside, attention calls of the network come to us: by the function they call, or by what `sites` compute."""
    if not sites:
        with attention_function(network, NAME):
            yield
        return
    with attention_function(network, "eager", force=True), softmax_road(network, sites, _answered):
        yield


@contextmanager
def watching(network: PreTrainedModel, see: Watcher, *, sites: Sequence[Site] = ()) -> Iterator[None]:
    """Inside, every attention call of `network` also calls `see(weights)`, weights (text, head, query, key).

    The network is put in eval mode; its mode and its attention function come back afterwards, whatever happens.
    """

    def handle(call: AttentionCall) -> AttentionCall:
        see(call.weights)
        return call

    with intercepting(network, lambda module: handle, sites=sites), evaluating(network):
        yield


@contextmanager
def without_edits() -> Iterator[None]:
    """Inside, in this thread, edits do not happen: for looking at what a network is rather than what it does."""
    token = _suspended.set(True)
    try:
        yield
    finally:
        _suspended.reset(token)


def edits_suspended() -> bool:
    """Whether this thread is inside `without_edits`."""
    return _suspended.get()


def edits_of(network: nn.Module) -> tuple[str, ...]:
    """The edits of the network, or of a part of it, that are in force, in words and the outermost first."""
    modules = set(map(id, network.modules()))
    return tuple(
        registration.edit
        for registration in _everywhere
        if registration.edit is not None and registration.modules & modules
    )


def is_edited(network: nn.Module) -> bool:
    """Whether an edit of the network, or of a part of it, is in force."""
    return bool(edits_of(network))


def can_watch(network: PreTrainedModel) -> bool:
    """Whether the architecture lets its attention function be chosen."""
    with attention_function(network, NAME):
        return bool(network.config._attn_implementation == NAME)


@contextmanager
def attention_function(network: PreTrainedModel, name: str, *, force: bool = False) -> Iterator[None]:
    """Inside, `network` computes attention by the function registered as `name`, where it takes one.

    `force` sets the name even where transformers would not, for architectures that look at it all the same.
    A second thread waits until the first has left.
    """
    submodels = [module for module in network.modules() if isinstance(module, PreTrainedModel)]
    configs = {id(model.config): model.config for model in submodels}  # parents before their parts
    with ExitStack() as changing:
        for key in sorted(configs):  # always in the same order: nobody waits for one who waits for them
            changing.enter_context(_changing[key])
        before = {key: config._attn_implementation for key, config in configs.items()}
        outermost = {key: own for key, own in before.items() if own != NAME and key not in _own_names}
        _own_names.update(outermost)
        try:
            with quiet_transformers():  # it warns of what can_watch tells apart
                network.set_attn_implementation(name)
            for config in configs.values() if force else ():
                config._attn_implementation = name
            yield
        finally:
            for key, config in configs.items():
                config._attn_implementation = before[key]
            for key in outermost:
                del _own_names[key]


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Inside, every module is in eval mode: in training mode weights would be taken after dropout."""
    training = [module for module in network.modules() if module.training]
    if training:
        network.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def returned_attention(network: PreTrainedModel, inputs: Mapping[str, Tensor | bool]) -> list[Tensor]:
    """Every attention map of one forward pass, (text, head, query, key) each, stack by stack.

    For architectures without the attention interface (MPNet, DeBERTa, BLOOM, XLNet …), which return their attention
    when asked, all layers at once. One batch's maps are then in memory together, which is bounded; what this road
    cannot do (editing) is refused elsewhere, never ignored.
    """
    force = adapter_for(network.config).reads_attention_setting
    with attention_function(network, "eager", force=force), evaluating(network), torch.inference_mode():
        output = network(**inputs, output_attentions=True, return_dict=True)
    maps = [layer for name in _OUTPUTS for layer in (getattr(output, name, None) or ())]
    if any(not isinstance(layer, Tensor) or layer.dim() != 4 for layer in maps):
        raise CaptureError(f"{type(network).__name__} returns attention in a form headscope does not know")
    return maps


def own_attention(kind: type) -> Callable[..., tuple[Tensor, Tensor]]:
    """The eager attention function that the module's own source file defines."""
    for base in kind.__mro__:
        names = vars(sys.modules[base.__module__])
        if _EAGER in names:
            eager: Callable[..., tuple[Tensor, Tensor]] = names[_EAGER]
            return eager
    raise CaptureError(
        f"{kind.__name__} comes without an eager attention function; headscope cannot watch it"
    )


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    *positional: Any,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    handlers = _handlers(module)
    config = getattr(module, "config", None)
    own_name = _own_names.get(id(config))
    if not handlers and own_name == _FAST and not options.get("output_attentions"):
        fast: Callable[..., tuple[Tensor, None]] = ALL_ATTENTION_FUNCTIONS[_FAST]
        return fast(module, query, key, value, attention_mask, *positional, **options)
    mask = adapter_for(config).additive_mask(attention_mask, query.dtype)
    if len(handlers) == 1 and isinstance(handlers[0], Replacement):
        inputs = AttentionInputs(
            module,
            query,
            key,
            value,
            mask,
            options.get("position_bias"),
            options.get("scaling"),
            options.get("softcap"),
        )
        return handlers[0].attend(inputs), None
    own = own_attention(type(module))
    output, weights = own(module, query, key, value, mask, *positional, **options)
    if not handlers:
        return output, weights
    call = AttentionCall(
        module,
        weights,
        output,
        query,
        key,
        value,
        mask,
        position_bias=options.get("position_bias"),  # T5 and its kin
        scaling=options.get("scaling"),
        soft_cap=options.get("softcap"),
        unknown_options=tuple(
            name for name in options if name not in _KNOWN and _says_something(options[name])
        ),
    )
    call = _handled(call, handlers)
    return call.output, call.weights


def _says_something(option: Any) -> bool:
    return option is not None and option is not False


def _answered(module: nn.Module, seen: Callable[[], AttentionCall]) -> AttentionCall | None:
    """The same for a call of the second road; None where nobody asked for it."""
    handlers = _handlers(module)
    if not handlers:
        return None
    return _handled(seen(), handlers)


def _handled(call: AttentionCall, handlers: list[Handler | Replacement]) -> AttentionCall:
    for handle in handlers:
        if isinstance(handle, Replacement):
            raise CaptureError(
                "attention cannot be computed in another way while an edit or another watcher looks on"
            )
        call = handle(call)
    return call


def _handlers(module: nn.Module) -> list[Handler | Replacement]:
    """What those who asked for the module's network want done with this call."""
    asked = (*(() if _suspended.get() else _everywhere), *_here.get())
    answers = [
        registration.interceptor(module) for registration in asked if id(module) in registration.modules
    ]
    return [answer for answer in answers if answer is not None]


PADDING = "padding"
_HIDING: dict[Any, str] = {
    causal_mask_function: "padding and what lies ahead",
    bidirectional_mask_function: PADDING,
}


def _mask(*positional: Any, **options: Any) -> Tensor | None:
    """The mask of eager functions; on an accelerator it says what it hides where that is known, so that nobody looks.

    transformers itself would stop the accelerator twice: to see whether the mask can be left out, and for a 0.
    """
    given, hides = options.get("attention_mask"), _HIDING.get(options.get("mask_function"))
    if not isinstance(given, Tensor) or not given.is_cuda or hides is None:
        return eager_mask(*positional, **options)
    return _told_mask(*positional, hides=hides, **options)


def _told_mask(*positional: Any, hides: str, dtype: torch.dtype = torch.float32, **options: Any) -> Tensor:
    """A mask for eager functions with the attribute `hides`, which `kernels.batch.is_plain` reads."""
    given, queries = options["attention_mask"], options.get("q_length")
    is_own = given.dim() == 2 and given.shape[1] == options.get("kv_length") and not options.get("kv_offset")
    if hides == PADDING and is_own and isinstance(queries, int):
        seen = given[:, None, None].bool()  # the same for all queries: no map in memory
    else:
        skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        seen = sdpa_mask(*positional, **(options | skips))
        assert seen is not None
        queries = seen.shape[2]
    hidden = seen.new_zeros(seen.shape, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min)
    mask: Any = hidden.expand(-1, -1, queries, -1)
    mask.hides = hides
    told: Tensor = mask
    return told


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, _mask)
