"""What Kobayashi et al. 2020 measure beside attention: the lengths of what heads fetch."""
