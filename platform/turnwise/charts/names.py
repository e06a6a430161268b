"""What the charts of a report are called."""


def name_of(kind: str, ask: int) -> str:
    """What a chart of an ask is called: by its kind, and by the number of the ask unless it is the first."""
    return f"{kind}-{ask}" if ask else kind


def kind_and_ask(name: str) -> tuple[str, int]:
    kind, _, number = name.rpartition("-")
    return (kind, int(number)) if number.isdecimal() else (name, 0)
