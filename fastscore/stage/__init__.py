"""The stage: files of any size in, item scores as files out, in constant memory, every row in its place; runs can be resumed.

`sources` says which files there are, `readers` gives their record batches, `scoring` makes item scores of a batch, `writers` puts
them in place whole, `manifest` remembers what is finished, and `run` is the way through.
"""
