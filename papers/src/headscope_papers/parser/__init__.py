"""The parser probe: all heads together as a dependency parser, and its baselines."""
