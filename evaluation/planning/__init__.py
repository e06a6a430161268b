"""Size and end of a study: power, plans, stopping rules, intervals that hold at every look. Pure."""
