"""The experiments of the papers and the benchmarks. Not part of the wheel: run them from a checkout."""
