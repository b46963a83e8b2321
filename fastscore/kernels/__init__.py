"""numba kernels: arrays in, arrays filled. No validation, no Arrow, no strings; see `jit` for the options."""
