"""Many texts, streamed through the model: scans, head distances, importance."""
