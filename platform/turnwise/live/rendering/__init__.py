"""Parts of the Markdown renderer: further syntax, formulas, highlighting, pictures, the check for losses."""
