"""Labels that a judge gave elsewhere: reading a file, choosing its columns, storing a run."""
