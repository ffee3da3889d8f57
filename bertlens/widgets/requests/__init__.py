"""What the page asks of the kernel, one kind of request a module."""
