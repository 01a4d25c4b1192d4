"""The studio: collects judgments in a browser with quality gates, and loses none.

The rooms, from the files up: ``campaign`` (the folder), ``gates`` (quality), ``record`` (database and present state),
``consensus`` (live inference), ``work`` (what judges do), ``desk`` (what leads do), ``identity`` and ``web``.
"""
