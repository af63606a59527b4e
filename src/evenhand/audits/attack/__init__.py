"""Single words replaced along a direction, against placebos."""
