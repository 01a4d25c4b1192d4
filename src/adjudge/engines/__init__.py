"""Who adds the tallies: threads over blocks on disk, Dask, Spark. No model is written here a second time."""
