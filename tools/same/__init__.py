"""Same numbers, same verdicts: what `make reference` records and `make same` compares."""
