"""How an operation is declared, and the promotion, axes and index rules that declarations share."""
