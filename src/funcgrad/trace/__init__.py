"""From functions to graphs: pytrees, leaves, skeletons."""
