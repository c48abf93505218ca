"""The sections of the report: one file for each sort of result."""
