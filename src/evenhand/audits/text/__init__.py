"""Texts × terms, asked live."""
