"""Uncertainty; knows nothing of bias. Pure functions of numpy arrays."""
