"""From an expression to something that runs: evaluate, simplify, substitute, lower."""
