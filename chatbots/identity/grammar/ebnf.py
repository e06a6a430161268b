"""A grammar as EBNF that Lark reads, for use elsewhere."""

from chatbots.identity.grammar.notation import Choice, Grammar, Phrase


def ebnf(grammar: Grammar, root: str) -> str:
    """The part of a grammar below a root, in Lark's notation; words are apart by spaces."""
    rules = grammar.reachable(root).rules.values()
    lines = [f"start: {root}"]
    for rule in rules:
        lines.append(f"{rule.name}: " + "\n    | ".join(_alternative(choice) for choice in rule.choices))
    return "\n".join([*lines, "%ignore /\\s+/", ""])


def _alternative(choice: Choice) -> str:
    parts = [
        " ".join(map(_quoted, symbol.words)) if isinstance(symbol, Phrase) else symbol.name
        for symbol in choice.symbols
    ]
    return " ".join(parts)


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
