"""From text to atlas: which heads look where, in a few lines.

python examples/analyze_text.py [FILE] [OUTPUT.nc]
"""

import sys

import headscope as hs

text = sys.argv[1] if len(sys.argv) > 1 else hs.sample_path("articles")
output = sys.argv[2] if len(sys.argv) > 2 else "analyze_text.nc"

atlas = hs.analyze(
    "demo",
    hs.read_text(text),
    measures=["offset_attention", "role_attention", "entropy"],
    limit=16,
)
print(atlas)

for offset, name in ((-1, "previous"), (0, "same"), (1, "next")):
    values = atlas["offset_attention"].sel(offset=offset)
    layer, head = values.stack(at=("layer", "head")).idxmax().item()
    at = {"offset": offset, "layer": layer, "head": head}
    value = atlas["offset_attention"].sel(at).item()
    error = atlas["offset_attention_stderr"].sel(at).item()
    print(f"{name:>8} token: head {layer}.{head}, {value:.3f} ± {error:.3f} of its attention")

entropy = atlas["entropy"].sel(query_role="all")
layer, head = entropy.stack(at=("layer", "head")).idxmax().item()
even = atlas["entropy_uniform"].item()
print(f"broadest head: {layer}.{head}, {entropy.max().item():.2f} nats; even attention has {even:.2f}")

atlas.save(output)
print(f"the atlas is in {output}")
