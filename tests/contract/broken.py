"""Models whose attention is nan, as far as a survey of them cannot see."""

from copy import deepcopy

import torch

from headscope.models import Model, wrap
from headscope.trace import surveyed

NAN = r"broken: the attention of layer 0( of the encoder)? holds nan \(all heads\); its weights"
"""What is said of one."""


def broken(model: Model) -> Model:
    """A model in which all but the first few words are nan, so that the survey of it finds nothing wrong."""
    network = deepcopy(model.network)
    with torch.no_grad():
        network.get_input_embeddings().weight[14:] = torch.nan
    found = wrap(network, model.tokenizer, name="broken")
    surveyed(found)
    return found
