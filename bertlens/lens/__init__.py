"""Lens: a model and its tokenizer, and what comes of calling them."""
