"""The `bertlens` command, one subcommand a module."""
