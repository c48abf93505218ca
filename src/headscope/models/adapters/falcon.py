"""Falcon: no attention interface, and masks that depend on the attention setting all the same."""

from typing import ClassVar

from headscope.models.adapters.base import ADAPTERS, Adapter


@ADAPTERS.register("falcon")
class Falcon(Adapter):
    """With the setting "sdpa" its masks would not be masks when it is asked to return attention."""

    reads_attention_setting: ClassVar[bool] = True
