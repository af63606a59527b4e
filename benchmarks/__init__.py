"""Side by side with peers, as ratios in one run. Never part of the tests: `make bench`, or `python -m benchmarks NAME`."""
