"""Models with normal effects of raters and items, fitted by Laplace's approximation."""
