"""A text as the model reads it: tokens, words and the tensors of a batch."""
