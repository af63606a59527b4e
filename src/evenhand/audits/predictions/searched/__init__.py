"""Subgroups that nobody named: searched over features on one half of the rows, confirmed on the other."""
