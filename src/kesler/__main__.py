"""``python -m kesler`` is the command line."""

import sys

from kesler.cli import main

if __name__ == "__main__":
    sys.exit(main())
