"""Labels that a judge gave elsewhere: reading a file, choosing its columns, storing a run.

`files` reads each format as rows with columns, so a new format is added there. What the columns mean is in
`evaluation/machine_judges/imported.py`.
"""
