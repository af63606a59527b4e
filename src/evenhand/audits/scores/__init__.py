"""Scores compared between groups, recorded or just asked."""
