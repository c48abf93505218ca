"""Learning what stacks, layers and heads a model has by watching it on a short probe, and whether to trust it.

There are three roads to a model's attention, tried in this order: transformers' attention interface, the softmax inside
of attention modules, and the maps that a model returns when asked, which can be looked at and no more. A road is taken
when what it shows is whole and watching changes nothing of what comes out of the model.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from headscope.errors import CaptureError, HeadscopeError, ModelError, first_line
from headscope.models.model import Model
from headscope.models.towers import tower_advice
from headscope.trace.architecture import Call, Place, Stacks, sort_calls
from headscope.trace.call import AttentionCall
from headscope.trace.edit_check import prove_edit
from headscope.trace.follow import Capture, Inputs, run_calls
from headscope.trace.layers import module_layers
from headscope.trace.observe import (
    can_watch,
    evaluating,
    intercepting,
    returned_attention,
    without_edits,
)
from headscope.trace.probing import (
    SOURCE,
    TARGET,
    apart,
    computed_in,
    different_probe,
    longest_probe,
    padded_probe,
    shorter_probe,
    state_of,
)
from headscope.trace.softmax import Site, find_sites, scale_of

# What rounding may do to the weights of a probe (we saw 1e-6 in float32).
_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-4}
_ROUNDING_IN_HALF = 1e-2
_STATE_ROUNDING = {torch.float32: 1e-3, torch.float64: 1e-3}
_STATE_ROUNDING_IN_HALF = 5e-2

_STACKS = {"encoder", "decoder", "cross"}

# Without the model in it, which would keep itself alive.
_surveyed: WeakKeyDictionary[Model, dict[str, Any]] = WeakKeyDictionary()


def surveyed(model: Model) -> Capture:
    """`survey(model)`, done once for each model."""
    if model not in _surveyed:
        capture = survey(model)
        _surveyed[model] = {
            field.name: getattr(capture, field.name) for field in fields(Capture) if field.name != "model"
        }
    return Capture(model, **_surveyed[model])


@dataclass(frozen=True)
class _Plain:
    """What comes out of a model that nobody watches; None where nothing looks like a state.

    Both matter: without padding transformers may leave the mask out, and PaliGemma then sees ahead where it else does
    not, and does not while it is watched.
    """

    padded: Tensor | None
    alone: Tensor | None


def survey(model: Model) -> Capture:
    """Watch a short forward pass to learn what stacks, layers and heads the model has, and whether to trust it.

    Edits that are in force are left out of it: a head that looks nowhere would seem to look ahead nowhere too.
    """
    with without_edits():
        return _survey(model)


def _survey(model: Model) -> Capture:
    plain = _Plain(*(_plain(model, probe(model)) for probe in (padded_probe, shorter_probe)))
    refused: dict[Any, CaptureError] = {}
    for road in (_by_interface, _by_softmax, _by_returned):
        try:
            capture = road(model, plain)
        except CaptureError as error:
            refused[road] = error
            continue
        if capture is not None:
            reasons = [str(error) for error in refused.values()]
            return capture if capture.hooked else replace(capture, why="; ".join(reasons))
    if refused:  # what the interface shows says most; else what the maps are that the model returns
        raise refused.get(_by_interface, list(refused.values())[-1])
    advice = tower_advice(model.network)
    raise ModelError(f"{model.name} ({model.architecture}) has no attention that can be observed{advice}")


def _by_interface(model: Model, plain: _Plain) -> Capture | None:
    """Through transformers' attention interface; None where the model does not use it."""
    if not can_watch(model.core):
        return None
    seen = _watched(model, padded_probe(model), ())
    if not seen.calls:  # the name may be accepted and not used
        return None
    return _captured(model, seen, plain, ())


def _by_softmax(model: Model, plain: _Plain) -> Capture | None:
    """Through the softmax inside of attention modules; None where the model returns no maps to know it by."""
    inputs = padded_probe(model)
    returned: list[Tensor] = []

    def run() -> Sequence[Tensor]:
        returned.extend(returned_attention(model.core, {**inputs, **model.no_cache}))
        return returned

    rounding = _ROUNDING.get(computed_in(model), _ROUNDING_IN_HALF)
    sites = _run(model, inputs, lambda: find_sites(model.core, run, rounding))
    if not sites:
        return None
    told = _watched(model, different_probe(model), sites)
    scales = {name: scale_of(call) for call, name, _ in told.calls}
    sites = tuple(replace(site, scale=scales.get(site.module)) for site in sites)
    seen = _watched(model, inputs, sites)
    if len(seen.calls) != len(returned):
        raise CaptureError(
            f"{len(seen.calls)} attention maps were seen of {len(returned)} that the model returns"
        )
    capture = _captured(model, seen, plain, sites)
    prove_edit(capture)
    return capture


def _by_returned(model: Model, plain: _Plain) -> Capture | None:
    """By the maps that the model returns when asked; None where it returns none."""

    def returned(inputs: Inputs, state: Tensor | None) -> list[Tensor]:
        outputs: list[Any] = []
        hook = model.core.register_forward_hook(lambda module, given, output: outputs.append(output))
        with ExitStack() as hooks:
            hooks.callback(hook.remove)
            maps: list[Tensor] = _run(
                model, inputs, lambda: returned_attention(model.core, {**inputs, **model.no_cache})
            )
        _check_state(model, state_of(outputs[-1]), state)
        return maps

    maps = returned(padded_probe(model), plain.padded)
    if not maps:
        return None
    stacks = _stacks(model, [_call(weights) for weights in maps])
    pads = check_probe(model, maps, returned(shorter_probe(model), plain.alone))
    capture = Capture(model, stacks, hooked=False, pads=pads)
    capture.look_through(padded_probe(model), maps, lambda place, weights: None)
    return capture


@dataclass(frozen=True)
class _Seen:
    """What a forward pass showed."""

    calls: list[tuple[AttentionCall, str, int]]
    """Each with the name of its module, and the number of the module's forward pass."""
    state: Tensor | None


def _captured(model: Model, seen: _Seen, plain: _Plain, sites: tuple[Site, ...]) -> Capture:
    """What was seen, once it is known to be whole and to change nothing."""
    _check_state(model, seen.state, plain.padded)
    repeats = _repeats(model, seen)
    maps = [call.weights for call, _, _ in seen.calls][::repeats]
    stacks = _stacks(model, [_call(_checked(model, weights)) for weights in maps])
    names = [name for _, name, _ in seen.calls][::repeats]
    stacks = stacks.numbered(module_layers(stacks.places, names))
    alone = _watched(model, shorter_probe(model), sites)
    _check_state(model, alone.state, plain.alone)
    pads = check_probe(model, maps, [call.weights for call, _, _ in alone.calls][::repeats])
    capture = Capture(model, stacks, hooked=True, pads=pads, sites=sites, repeats=repeats)
    capture.look_through(padded_probe(model), maps, lambda place, weights: None)
    return capture


def _check_state(model: Model, state: Tensor | None, plain: Tensor | None) -> None:
    """Raise CaptureError where a watched forward pass gives something else than a plain one."""
    rounding = _STATE_ROUNDING.get(computed_in(model), _STATE_ROUNDING_IN_HALF)
    if plain is not None and state is not None and (off := apart(state, plain)) > rounding:
        raise CaptureError(
            f"{model.name} ({model.architecture}) computes something else while its attention is watched (off by "
            f"{off:.2g} of its largest number), so what is seen is not what it does; headscope cannot use it"
            f"{_by_eager(model)}"
        )


def _by_eager(model: Model) -> str:
    """What may help: attention that is computed as the watched one is."""
    own = getattr(model.network.config, "_attn_implementation", None)
    if own in (None, "eager"):
        return ""
    return (
        f" as it is loaded (attention by {own}). Loaded by transformers with attn_implementation='eager' and given to "
        "hs.wrap(network, tokenizer), it computes the same watched or not"
    )


def _stacks(model: Model, calls: list[Call]) -> Stacks:
    stacks = sort_calls(calls, source=SOURCE, target=TARGET if model.is_encoder_decoder else None)
    missing = _STACKS - {grid.stack for grid in stacks.grids} if model.is_encoder_decoder else set()
    if missing:
        raise CaptureError(
            f"{model.name} ({model.architecture}): no attention of its {' and '.join(sorted(missing))} was seen, which "
            "it computes in a way of its own; headscope cannot use it"
        )
    return stacks


def _repeats(model: Model, seen: _Seen) -> int:
    """How often a module attends in one forward pass: once, or several times with the same weights (DiffLlama)."""
    counts = Counter((name, entry) for _, name, entry in seen.calls)
    times = set(counts.values())
    if times == {1}:
        return 1
    repeats = times.pop() if len(times) == 1 else 0
    weights = [call.weights for call, _, _ in seen.calls]
    if not repeats or any(
        not torch.equal(weights[number], weights[number - number % repeats]) for number in range(len(weights))
    ):
        raise CaptureError(
            f"{model.name} ({model.architecture}) attends more than once in a layer, in different ways; headscope "
            "cannot tell which of them are the layer's heads"
        )
    return repeats


def check_probe(model: Model, maps: list[Tensor], alone: list[Tensor]) -> bool:
    """Whether a text gives the same attention padded as alone; raises if what was seen cannot be attention.

    `maps` are (2, head, query, key), the second text padded; `alone` are the second text by itself.
    """
    same = True
    rounding = _ROUNDING.get(computed_in(model), _ROUNDING_IN_HALF)
    for weights, single in zip(maps, alone, strict=True):
        queries, keys = single.shape[2:]
        short = weights[1, :, :queries]
        if (weights[0] < 0).any() or (weights[0].sum(-1) > 1 + rounding).any():
            raise CaptureError(
                f"{model.name} ({model.architecture}) returns something that is not attention weights (negative, or "
                "more than 1 in all); headscope cannot use it"
            )
        if (short[..., keys:] > rounding).any():
            raise CaptureError(
                f"{model.name} ({model.architecture}) attends to padding; headscope cannot use it"
            )
        same = same and torch.allclose(short[..., :keys].float(), single[0].float(), atol=rounding)
    return same


def _call(weights: Tensor) -> Call:
    _, heads, queries, keys = weights.shape
    return Call(queries, keys, heads, causal=queries == keys and not bool(weights[0].triu(1).any()))


def _checked(model: Model, weights: Tensor) -> Tensor:
    if weights.dim() != 4:
        raise CaptureError(
            f"{model.name}: attention of shape {tuple(weights.shape)} is not (text, head, query, key)"
        )
    return weights


def _plain(model: Model, inputs: Inputs) -> Tensor | None:
    """What comes out of a forward pass that nobody watches."""
    return state_of(_run(model, inputs, lambda: model.core(**inputs, **model.no_cache)))


def _watched(model: Model, inputs: Inputs, sites: Sequence[Site]) -> _Seen:
    """Every attention call of one forward pass, in order, and what came out."""
    core = model.core
    names = {module: name for name, module in core.named_modules()}
    calls: list[tuple[AttentionCall, str, int]] = []
    with _counting(names) as entries:

        def see(call: AttentionCall) -> AttentionCall:
            calls.append((call, names[call.module], entries[names[call.module]]))
            return call

        with intercepting(core, lambda module: see, sites=sites):
            output = _run(model, inputs, lambda: core(**inputs, **model.no_cache))
    return _Seen(calls, state_of(output))


@contextmanager
def _counting(names: dict[nn.Module, str]) -> Iterator[Counter[str]]:
    """Inside, how often each module was run."""
    entries: Counter[str] = Counter()
    with ExitStack() as hooks:
        for module, name in names.items():

            def enter(module: nn.Module, arguments: Any, name: str = name) -> None:
                entries[name] += 1

            hooks.callback(module.register_forward_pre_hook(enter).remove)
        yield entries


def _run(model: Model, inputs: Inputs, compute: Callable[[], Any]) -> Any:
    """What `compute` gives, in eval mode and with the same random numbers every time; ModelError where it fails."""
    try:
        with evaluating(model.core), torch.inference_mode(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return compute()
    except HeadscopeError:
        raise
    except Exception as error:
        advice = tower_advice(model.network)
        reason = advice or f": {first_line(error)}"
        raise ModelError(
            f"{model.name} ({model.architecture}) cannot be run on text alone{reason}"
        ) from error


def attention_modules(capture: Capture) -> dict[Place, str]:
    """The name in the core of the module that computes each layer's attention; where the hook reaches it."""
    names = {module: name for name, module in capture.model.core.named_modules()}
    modules: dict[Place, str] = {}
    inputs = longest_probe(capture.model)
    run_calls(capture, inputs, lambda place, call: modules.update({place: names[call.module]}))
    return modules
