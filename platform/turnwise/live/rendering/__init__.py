"""Parts of the Markdown renderer: syntax beyond CommonMark, formulas, highlighting, pictures, and the check for losses."""
