"""`python -m linker` is `linker`."""

from linker.cli import main

if __name__ == "__main__":
    main()
