"""Statistics of scores: intervals, differences between systems, tests, resampling."""
