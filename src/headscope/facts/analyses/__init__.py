"""What each analysis says of its result: names, units, columns, baselines and verdicts, once for all media."""
