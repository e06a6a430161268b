"""What a study declares before it opens: its stopping rule and its plan, frozen at the opening."""
