"""Engines that add up the counts of blocks on disk: threads, Dask and Spark. All run the models of ``inference``."""
