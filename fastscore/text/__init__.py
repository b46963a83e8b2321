"""Text columns as bytes, offsets and validity, and the Unicode tables that kernels read."""
