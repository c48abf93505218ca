"""The fast road: attention and its reductions in one launch on a GPU, chosen by proof."""
