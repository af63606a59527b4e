"""Leakage: attackers guess the group from outputs, and from what people said of the same images."""
