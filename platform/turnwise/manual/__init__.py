"""The documentation as pages of the product, with search and a help page for each view."""
