"""One estimate from people's labels and a machine judge's; `estimates` has the functions to call."""
