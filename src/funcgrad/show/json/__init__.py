"""Programs as JSON files: the format, its params, and validation of what is read."""
