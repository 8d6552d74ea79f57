"""Series and DataFrames of pandas whose columns are traced."""
