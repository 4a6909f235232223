"""`python -m warpsmith`."""

from warpsmith.cli import main

if __name__ == "__main__":
    main()
