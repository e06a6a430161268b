"""The command `turnwise`: subcommands under names that a person would use, and what they share."""
