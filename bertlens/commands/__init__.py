"""The subcommands of `bertlens`, one a module; see `bertlens.cli`."""
