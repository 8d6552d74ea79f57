"""From expressions to programs that run: an IR of calls, passes over it, and backends."""
