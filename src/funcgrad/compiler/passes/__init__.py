"""Optimization passes: over expressions (the loop passes), over steps, and over calls (fusion)."""
