"""Whether the weights that were read are those of the network: no layer random, none left out."""

import re
import warnings
from collections.abc import Collection

from transformers import PreTrainedModel

from headscope.errors import HeadscopeWarning, ModelError

_NUMBER = re.compile(r"\.\d+\.")


def lacking_weights(network: PreTrainedModel, missing: Collection[str]) -> list[str]:
    """Of the parameters that the weights have not, those that attention depends on: they would be random numbers.

    No attention depends on a pooler, and tables of sines (Marian) are computed, not saved.
    """
    computed = {
        f"{name}.weight" for name, part in network.named_modules() if "Sinusoidal" in type(part).__name__
    }
    return sorted(key for key in missing if "pooler" not in key and key not in computed)


def check_weights(
    label: str, network: PreTrainedModel, missing: Collection[str], unexpected: Collection[str]
) -> None:
    """Refuse a network that lacks weights or leaves out layers of them; name other weights of its core left unused.

    Poolers and task heads may be missing or unused: no attention depends on them.
    """
    lacking = lacking_weights(network, missing)
    if lacking:
        raise ModelError(
            f"{label}: the weights lack {len(lacking)} of the model's parameters, such as {lacking[0]}; is its "
            "config.json that of these weights?"
        )
    # An unused parameter that has the name of a used one but for its numbers is one of a layer too many.
    names = {_NUMBER.sub(".*.", name) for name in network.state_dict()}
    prefix = f"{network.base_model_prefix}."
    by_name = {key: key.removeprefix(prefix) for key in sorted(unexpected)}
    layers = [key for key, name in by_name.items() if _NUMBER.sub(".*.", name) in names]
    if layers:
        raise ModelError(
            f"{label}: the weights have layers that the model would leave out ({len(layers)} parameters, such as "
            f"{layers[0]}); config.json must say how many layers these weights have"
        )
    parts = {name for name, _ in network.named_children()}
    unused = [
        key
        for key, name in by_name.items()
        if (key != name or name.split(".")[0] in parts) and not {"pooler", "lm_head"} & set(name.split("."))
    ]
    if unused:
        warnings.warn(
            f"{label}: {len(unused)} of the weights belong to no part of {type(network).__name__} and are not used, "
            f"such as {unused[0]}",
            HeadscopeWarning,
            stacklevel=3,
        )
