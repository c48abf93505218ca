"""How every picture looks: its colours, and its theme."""
