"""Parsed sentences: read, encoded and pooled to words."""
