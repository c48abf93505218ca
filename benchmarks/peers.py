"""The averages and entropies of bench.py by TransformerLens, in an environment that has it beside headscope.

    python benchmarks/peers.py "demo 12 x 8 x 256" SEGMENTS ROUNDS THREADS

bench.py starts it (`make bench PEERS=/path/to/python`), as TransformerLens needs more packages than we do. Prints, as
JSON, the ratio to the plain forward pass in the same process: of the network with its masked-LM head, which
TransformerLens runs too.
"""

import json
import sys
import warnings
from copy import deepcopy
from statistics import median

import torch
from material import models, pairs
from speed import batches, seconds
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM

NAME = "TransformerLens: patterns of a batch kept, averages and entropy by torch"


def observe(bridge: torch.nn.Module, inputs: list[dict[str, Tensor]], special: Tensor) -> None:
    with torch.inference_mode():
        for batch in inputs:
            _, cache = bridge.run_with_cache(
                batch["input_ids"],
                return_type=None,
                attention_mask=batch["attention_mask"],
                token_type_ids=batch["token_type_ids"],
                names_filter=lambda name: name.endswith("hook_pattern"),
            )
            assert len(cache) >= len(bridge.blocks)
            for pattern in cache.values():  # (text, head, query, key)
                for offset in (-1, 0, 1):
                    pattern.diagonal(offset, -2, -1).mean(-1)
                is_special = torch.isin(batch["input_ids"], special).to(pattern)
                (pattern @ is_special[:, None, :, None]).mean((-1, -2))
                torch.special.entr(pattern).sum(-1).mean(-1)


def main() -> None:
    from transformer_lens.model_bridge import TransformerBridge  # noqa: PLC0415 - an optional peer

    name, segments, rounds, threads = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    warnings.simplefilter("ignore")
    model = models()[name]
    inputs = batches(model, pairs(segments))
    config = BertConfig(**model.config.to_dict())
    config.architectures = ["BertForMaskedLM"]
    network = BertForMaskedLM(config).eval()
    network.bert.load_state_dict(model.core.state_dict(), strict=False)
    plain = deepcopy(network)  # the bridge turns its own to eager attention

    def untouched() -> None:
        with torch.inference_mode():
            for batch in inputs:
                plain(**batch)

    bridge = TransformerBridge.boot_transformers(
        "google-bert/bert-base-cased", hf_model=network, tokenizer=model.tokenizer, device="cpu"
    )
    special = torch.tensor([model.tokenizer.cls_token_id, model.tokenizer.sep_token_id])
    observe(bridge, inputs[:1], special)
    ratios = []
    for _ in range(rounds):
        before = seconds(untouched)
        took = seconds(lambda: observe(bridge, inputs, special))
        ratios.append(took / ((before + seconds(untouched)) / 2))
    print(json.dumps({NAME: median(ratios)}))


if __name__ == "__main__":
    main()
