"""The one hook: watching attention while the real model runs.

transformers lets a model's attention be computed by a registered function. Ours calls the model's *own* eager
function, so relative biases, soft caps and sinks stay exact, and hands the weights to whoever is watching.
The mask function of the same name must be registered too: without it the mask silently becomes None and a
decoder sees the future.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from headscope.errors import CaptureError
from headscope.models.quiet import quiet_transformers

NAME = "headscope"
_EAGER = "eager_attention_forward"

Watcher = Callable[[Tensor], None]
_watcher: ContextVar[Watcher | None] = ContextVar("headscope_watcher", default=None)

# The attention function is a setting of the network, seen by all threads: only one may have it changed at a time.
_changing = threading.RLock()


@contextmanager
def watching(network: PreTrainedModel, see: Watcher) -> Iterator[None]:
    """Inside, every attention call of `network` also calls `see(weights)`, weights (text, head, query, key).

    The network is put in eval mode; its mode and its attention function come back afterwards, whatever happens.
    """
    token = _watcher.set(see)
    try:
        with attention_function(network, NAME), evaluating(network):
            yield
    finally:
        _watcher.reset(token)


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
    with _changing:
        submodels = [module for module in network.modules() if isinstance(module, PreTrainedModel)]
        configs = {id(model.config): model.config for model in submodels}  # parents before their parts
        before = {key: config._attn_implementation for key, config in configs.items()}
        try:
            with quiet_transformers():  # it warns of what can_watch tells apart
                network.set_attn_implementation(name)
            for config in configs.values() if force else ():
                config._attn_implementation = name
            yield
        finally:
            for key, config in configs.items():
                config._attn_implementation = before[key]


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Inside, every module is in eval mode: in training mode weights would be taken after dropout."""
    training = [module for module in network.modules() if module.training]
    network.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def own_attention(kind: type) -> Callable[..., tuple[Tensor, Tensor]]:
    """The eager attention function that the module's own source file defines."""
    for base in kind.__mro__:
        names = vars(sys.modules[base.__module__])
        if _EAGER in names:
            found: Callable[..., tuple[Tensor, Tensor]] = names[_EAGER]
            return found
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
) -> tuple[Tensor, Tensor]:
    output, weights = own_attention(type(module))(
        module, query, key, value, attention_mask, *positional, **options
    )
    see = _watcher.get()
    if see is not None:
        see(weights)
    return output, weights


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, eager_mask)
