"""The sub-commands, one module each: a function whose docstring is its `--help`; it returns the exit code, or None for 0."""
