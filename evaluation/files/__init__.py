"""Reading and writing of files: CSV, JSON Lines, LaTeX."""
