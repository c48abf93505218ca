PATTERNS = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
