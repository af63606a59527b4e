"""Captions, labels or counts of two corpora."""
