"""BLIP's text decoder: causal only when it is told so at every forward pass."""

from torch import nn

from headscope.models.adapters.base import ADAPTERS, Adapter


@ADAPTERS.register("blip_text_model")
class BlipText(Adapter):
    """The same core reads in both directions as an encoder, and from left to right below a head that writes."""

    def settings(self, network: nn.Module) -> dict[str, bool]:
        """That it is a decoder, as its head says."""
        return {"is_decoder": True} if type(network).__name__.endswith("LMHeadModel") else {}
