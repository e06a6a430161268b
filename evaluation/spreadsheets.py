"""Text in CSV files that a spreadsheet program may open."""

# A spreadsheet takes a cell that begins so for a formula, and runs it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet runs: an apostrophe goes before what looks like a formula.

    A text that has such an apostrophe already gets one more, so that `original` gives every text back.

    Args:
        text: any text, untrusted.
    """
    return "'" + text if text.lstrip("'").startswith(_FORMULA_STARTS) else text


def original(cell: str) -> str:
    """The text that `harmless` made this cell of.

    Args:
        cell: as read from a CSV file.
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA_STARTS) else cell
