"""The widget: views of an Attention that share one Selection, and what crosses to the page."""
