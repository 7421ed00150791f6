"""Where people work already: a module for each program that linker is used from."""
