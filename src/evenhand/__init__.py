"""Measures whether a machine-learning model treats people even-handedly."""

__version__ = "0.1.0"
