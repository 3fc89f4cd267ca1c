"""``python -m omnichunk`` is the ``omnichunk`` command."""

from omnichunk.cli import main

if __name__ == "__main__":
    main()
