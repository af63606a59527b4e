"""Uncertainty; knows nothing of bias. Pure functions of numpy arrays.

Four are for use from outside, and no audit needs them today: `rates.clopper_pearson` (an exact interval of
one rate), `multiplicity.max_t` (simultaneous bands from joint replicates), `crossed.cluster_variance` (of a
sum of influences, one or two samples of clusters), `power.units_needed` (how many units a wanted power
costs).
"""
