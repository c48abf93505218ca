"""Templates by the kernel, interpreted on a CPU or on a GPU, against plain loops over queries and keys."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.attention import encoder, random_texts, token_batch
from tests.helpers.patterns import SYNTAX_TEMPLATES, TEMPLATES, template_rows

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)

from headscope.kernels.triton import templates_kernel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KINDS, FARTHEST = 4, 127


@pytest.mark.parametrize("annotated", [False, True], ids=["plain", "with syntactic heads"])
@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
def test_templates_products_and_sizes(causal: bool, annotated: bool) -> None:
    rng = np.random.default_rng(3)
    texts = random_texts(encoder(1, 1), [9, 150, 23, 140], seed=3)
    if annotated:
        texts = [replace(text, governor=rng.integers(-1, 5, len(text)).tolist()) for text in texts]
    templates = TEMPLATES | (SYNTAX_TEMPLATES if annotated else {})
    width, chosen, rows = max(map(len, texts)), [1, 2, 0], 12
    places = np.zeros((len(chosen), rows), dtype=int)
    share = np.zeros((len(chosen), rows), dtype=np.float32)
    kinds = rng.integers(0, KINDS, (len(chosen), width))
    made = np.zeros((len(chosen), len(templates), rows, width))
    sizes = np.zeros((KINDS, 2 * FARTHEST + 1))
    for number, text in enumerate(texts[text] for text in chosen):
        queries = rng.permutation(len(text))[:rows]
        places[number, : len(queries)], share[number, : len(queries)] = queries, 1 / len(queries)
        whole = np.stack([template_rows(text, points, causal=causal) for points in templates.values()])
        made[number, :, : len(queries), : len(text)] = whole[:, queries]
        for query in queries:
            for key in range(query + 1 if causal else len(text)):
                offset = np.clip(key - query, -FARTHEST, FARTHEST) + FARTHEST
                sizes[kinds[number, key], offset] += 1 / len(queries)
    products = np.einsum("tkrj,tlrj,tr->kl", made, made, share)
    found = templates_kernel.template_rows(
        token_batch(texts).to(torch.device(DEVICE)),
        *(torch.from_numpy(np.asarray(given)).to(DEVICE) for given in (chosen, places, share, kinds)),
        templates=len(templates), farthest=FARTHEST, count=KINDS, causal=causal,
    )  # fmt: skip
    for ours, expected in zip(found, (made, products, sizes.ravel()), strict=True):
        np.testing.assert_allclose(ours.cpu().numpy(), expected, rtol=1e-5, atol=1e-6)
