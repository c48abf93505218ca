"""Mutants: small faults put into the source, one at a time, to see which tests notice."""
