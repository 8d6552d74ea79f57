"""Expressions to programs that run: the IRs of operations and of calls, passes over them, and backends."""
