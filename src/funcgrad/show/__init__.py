"""Programs for readers: formulas and tables, each a fold."""
