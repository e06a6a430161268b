"""How large a study must be, and when it may stop: power, plans, intervals that hold at every look. Pure."""
