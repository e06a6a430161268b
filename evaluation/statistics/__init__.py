"""Statistics of scores: intervals, differences between systems, tests, sample size, resampling."""
