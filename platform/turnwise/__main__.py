"""`python -m turnwise` is the command `turnwise`."""

from turnwise.project.command_line.program import main

if __name__ == "__main__":
    main()
