"""Sparse Jacobians and Hessians: sparsity propagation and coloring."""
