"""`headscope reproduce`: a paper's figures with ours beside them."""
