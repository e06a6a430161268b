"""Running Turnwise on one machine: the supervisor, its child programs and embedded services."""
