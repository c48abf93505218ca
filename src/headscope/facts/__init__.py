"""What is said of an atlas, made once and shown everywhere: names, scores with verdicts, and findings."""
