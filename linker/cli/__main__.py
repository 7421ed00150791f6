"""`python -m linker.cli` is `linker`."""

from linker.cli import main

main()
