"""Attacks on linker: mutated inputs, kills, damaged models, loads under replacement.

Each attack is a seeded, numbered case. A module holds one kind of attack, or a few that are near to
each other: a generator that makes what all cases share (seeds, models) in a folder, and yields a
function `attack(rng, case, folder)`. That one draws all that it does from `rng`, works in `folder`,
which is empty, and returns where linker did what it should. It raises LinkerError where linker
refused, which is right too unless the kind says otherwise; any other exception is a failure, and so
are the death of the process and what goes beyond the limits of `core`. `run.py` is the long run and
repeats a single case; tests/test_attacks.py is a short share.
"""
