"""`python -m bertlens` is the `bertlens` command."""

import sys

from bertlens.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
