"""Architecture adapters: what a family of models does its own way, one file each, all reached through ADAPTERS."""

from headscope.models.adapters.base import ADAPTERS, Adapter, Projections, adapter_for
from headscope.models.adapters.blip import BlipText
from headscope.models.adapters.falcon import Falcon
from headscope.models.adapters.gpt2 import GPT2
from headscope.models.adapters.gpt_bigcode import GPTBigCode
from headscope.models.adapters.gptj import GPTJ
from headscope.models.adapters.t5 import T5
from headscope.models.adapters.xlnet import XLNet

__all__ = [
    "ADAPTERS",
    "GPT2",
    "GPTJ",
    "T5",
    "Adapter",
    "BlipText",
    "Falcon",
    "GPTBigCode",
    "Projections",
    "XLNet",
    "adapter_for",
]
