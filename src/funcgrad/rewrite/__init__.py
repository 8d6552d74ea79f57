"""Expression to expression: simplification by laws, substitution, evaluation."""
