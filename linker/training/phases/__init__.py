"""The phases of a training, one file each: `prepare(model)` gives a `Phase`, or None to skip it."""
