"""Pictures of programs: DOT, SVG and the explorer page."""
