"""How a new study begins: what a researcher wants to know, with what, and by whom."""
