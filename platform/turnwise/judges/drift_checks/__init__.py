"""Daily check of machine judges: a judge answers a few of its items again; a departure is an alarm."""
