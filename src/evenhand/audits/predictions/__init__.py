"""Recorded predictions: numbers, labels, rankings."""
