"""The attention of one text, and what can be computed from it."""
