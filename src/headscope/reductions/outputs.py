"""The reduction of what heads add to the residual stream."""

import torch
from torch import Tensor

from headscope.attention import LayerAttention, reads_values


@reads_values
def given_sums(batch: LayerAttention) -> Tensor:
    """(text, head, 4) sums over queries of what a head gives them after the projection.

    Of its length |y|, of |y|², of |y| / |x| (nan where the residual stream is not seen), and the length of their sum.
    """
    carried = batch.carried
    assert carried is not None
    real = batch.queries.is_token[:, None]  # (text, 1, query)
    given = carried.given.masked_fill(~real, 0)  # (text, head, query)
    outputs = carried.output  # (text, query, head, dim)
    if not batch.queries.is_full:
        outputs = outputs.masked_fill(~real.mT[..., None], 0)
    count = real.sum(-1)[..., None, None]  # the mean first: sums may leave half precision
    together = carried.lengths_of(outputs.sum(1)[:, :, None] / count)[..., 0] * count[..., 0, 0]
    stream = carried.residual
    against = torch.full_like(together, torch.nan)
    if stream is not None:
        against = torch.where(real & (stream > 0)[:, None], given / stream[:, None], 0).sum(-1)
    return torch.stack([given.sum(-1), given.square().sum(-1), against, together], -1)
