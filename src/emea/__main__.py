"""`python -m emea` is `emea`."""

from emea.cli import main

if __name__ == "__main__":
    main()
