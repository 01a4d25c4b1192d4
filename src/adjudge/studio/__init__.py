"""The studio: collects judgments in a browser with quality gates, and loses none.

From the files up: ``settings``, ``campaign_files``, ``documents`` and ``campaign`` (the folder), ``access`` (passwords,
sessions, limits) and ``platforms`` (judges from elsewhere), ``gates`` with ``gate_designer`` and ``gate_error_rates``
(quality), ``record`` (database and present state), ``consensus`` and ``refresh_consensus`` (live inference), ``work``
(what judges do), ``studio`` (an open campaign), ``desk`` (what leads do) and ``web`` (pages and routes).
"""
