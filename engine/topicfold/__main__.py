"""The command `topicfold`, also as `python -m topicfold`. An interrupt while it is loaded ends it as any other does."""

import sys

_INTERRUPTED = 130
"""The exit code, whose table is not loaded yet."""


def main() -> int:
    """Load the command line and run one command; return its exit code."""
    try:
        from topicfold.cli.main import main as run
    except KeyboardInterrupt:
        return _INTERRUPTED
    return run()


if __name__ == "__main__":
    sys.exit(main())
