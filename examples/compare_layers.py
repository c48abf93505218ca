"""Three pictures of an atlas: a grid of heads, entropy by layer, and attention to full stops by layer.

python examples/compare_layers.py [ATLAS.nc] [FOLDER]

Without an atlas (or with `demo` in its place) it makes one of the demo model. The first picture is the one in
the project's README.
"""

import sys
from pathlib import Path

import headscope as hs

source = sys.argv[1] if len(sys.argv) > 1 else "demo"
folder = Path(sys.argv[2] if len(sys.argv) > 2 else ".")

if source == "demo":
    corpus = hs.read_text(hs.sample_path("articles"))
    atlas = hs.analyze("demo", corpus, measures=["offset_attention", "role_attention", "entropy"], limit=16)
else:
    atlas = hs.open(source)

pictures = {
    "demo-heads.svg": hs.figures.head_grid(atlas, "offset_attention", select={"offset": -1}),
    "entropy-by-layer.svg": hs.figures.entropy_by_layer(atlas),
    "period-by-layer.svg": hs.figures.role_by_layer(atlas, "period"),
}
for name, ax in pictures.items():
    print(hs.figures.save(ax, folder / name))
