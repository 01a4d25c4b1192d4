"""Studies and pictures: many models on many sets of judgments, as tables and figures."""
