"""What the model does without a head or an edge: effects, patching, attribution, pruning."""
