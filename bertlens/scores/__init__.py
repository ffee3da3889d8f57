"""What a score of a head is; knows no model and no corpus."""
