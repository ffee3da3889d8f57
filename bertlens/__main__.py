"""`python -m bertlens`: the `bertlens` command."""

import sys

from bertlens.cli.main import main

sys.exit(main())
