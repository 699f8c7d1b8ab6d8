"""Row-stable products, BLAS threads, and the compiled library."""
