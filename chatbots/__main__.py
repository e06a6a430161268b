"""Bots on the terminal: `python -m chatbots list | describe NAME | reply NAME | chat NAME | audit NAME`."""

import argparse
import importlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

from chatbots import local_files
from chatbots.base import Context, Speaker, Turn
from chatbots.errors import ChatbotError, HostingError
from chatbots.hosting.resident import Resident, leave
from chatbots.registry import REGISTRY

TOOLS = {name: name for name in ("hierarchical", "identity", "meena")} | {"topical-chat": "knowledge"}
"""Commands whose package in `chatbots/` has `main(arguments) -> int` in its module `cli`."""

LONGEST_DEADLINE = 86_400


class UsageError(Exception):
    """An argument that cannot be used; the message is for the terminal."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with one line of error instead of argparse's two."""
        self.exit(2, f"chatbots: {message}. See {self.prog} --help\n")


def main(arguments: Sequence[str]) -> int:
    """Run one command of `python -m chatbots`.

    Args:
        arguments: all words after `python -m chatbots`.

    Returns:
        The exit status: 0, or 2 after one line of error on the standard error stream.
    """
    os.environ.setdefault(local_files.VARIABLE, "/")  # the user's own account limits reading
    if arguments and arguments[0] in installed_tools():
        cli = importlib.import_module(f"chatbots.{TOOLS[arguments[0]]}.cli")
        return int(cli.main(list(arguments[1:])))
    options = _parser().parse_args(arguments)
    _show_tracebacks(getattr(options, "verbose", False))
    try:
        options.run(options)
    except (ChatbotError, UsageError) as error:
        print(f"chatbots: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


def _show_tracebacks(enabled: bool) -> None:
    logging.getLogger("chatbots").addHandler(logging.StreamHandler() if enabled else logging.NullHandler())


def installed_tools() -> list[str]:
    """List the members of `TOOLS` that are installed, without importing them."""
    return [tool for tool, package in TOOLS.items() if find_spec(f"chatbots.{package}")]


def _parser() -> argparse.ArgumentParser:
    tools = installed_tools()
    parser = _Parser(
        prog="python -m chatbots",
        description="List, describe and try the bots that are registered.",
        epilog=f"More commands: {', '.join(f'{tool} --help' for tool in tools)}" if tools else None,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = partial(_add_command, commands)
    add("list", _list, "names and summaries of all bots")
    _name(add("describe", _describe, "settings of a bot"))
    reply = add("reply", _reply, "answer one context")
    _name(reply)
    reply.add_argument(
        "--context", action="append", required=True, metavar="TEXT", help="a turn; repeat, oldest first"
    )
    reply.add_argument(
        "--candidates", action="store_true", help="all that the reply was chosen from, with their scores"
    )
    chat = add("chat", _chat, "talk until end of input (Ctrl-D)")
    _name(chat)
    audit = add("audit", _audit, "ask a bot in 250 ways what it is, and count what it says")
    _name(audit)
    audit.add_argument("--replies", type=Path, metavar="FILE.jsonl", help="write every reply there")
    for command in (reply, chat, audit):
        command.add_argument(
            "--configuration", default="{}", metavar="JSON|FILE", help="settings, or a file that holds them"
        )
        command.add_argument("--seed", type=int, help="makes replies repeatable")
        command.add_argument("--verbose", action="store_true", help="show the bot's own traceback")
        command.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS", help="per reply")
    return parser


def _add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], summary: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    parser.set_defaults(run=run)
    return parser


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as `list` shows it")


def _list(options: argparse.Namespace) -> None:
    names = REGISTRY.registered_names()
    width = max(map(len, names), default=0)
    for name in names:
        print(f"{name:<{width}}  {REGISTRY.describe(name).summary}")
    for origin, why in REGISTRY.broken_modules().items():
        print(f"chatbots: {origin} could not be imported: {why}", file=sys.stderr)


def _describe(options: argparse.Namespace) -> None:
    description = REGISTRY.describe(options.name)
    print(f"{description.name}: {description.summary}\nclass: {description.origin}\nsettings:")
    for setting, schema in description.schema["properties"].items():
        default = json.dumps(schema["default"]) if "default" in schema else "required"
        print(f"  {setting} ({default}): {schema.get('description', '')}")


def _reply(options: argparse.Namespace) -> None:
    with _resident(options) as bot:
        response = bot.respond_now(Context.from_texts(options.context, options.seed))
    print(response.text)
    if options.candidates:
        for candidate in response.candidates:
            print(f"{candidate.score:10.4f}  {candidate.text}")
        for remark in response.remarks:
            print(f"# {remark}")
        if not response.candidates:
            print(f"chatbots: {options.name} tells no candidates.", file=sys.stderr)


def _chat(options: argparse.Namespace) -> None:
    turns: list[Turn] = []
    dialogue = uuid4().hex
    with _resident(options) as bot:
        for text in _typed_lines():
            turns.append(Turn(Speaker.HUMAN, text))
            try:
                response = bot.respond_now(Context(tuple(turns), options.seed, dialogue))
            except HostingError as error:
                turns.pop()
                print(f"chatbots: {error}", file=sys.stderr)
            else:
                turns.append(Turn(Speaker.BOT, response.text))
                print(f"{options.name}: {response.text}", flush=True)


def _audit(options: argparse.Namespace) -> None:
    from chatbots.identity.audit import as_row, report  # brings scipy, which no other command needs

    with _resident(options) as bot:
        figures, answers = report(lambda context: bot.respond_now(context).text, seed=options.seed or 0)
    if options.replies:
        rows = (json.dumps(as_row(each), ensure_ascii=False) for each in answers)
        options.replies.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    print(json.dumps({"bot": options.name} | figures, indent=1, ensure_ascii=False))


def _typed_lines() -> Iterable[str]:
    prompt = "you: " if sys.stdin.isatty() else ""
    while True:
        try:
            yield input(prompt)
        except EOFError:
            return


def _resident(options: argparse.Namespace) -> Resident:
    """Load the bot; the deadline applies to its replies alone."""
    settings = _settings(options.configuration)
    REGISTRY.configuration(options.name, settings)
    if not 0 < options.deadline <= LONGEST_DEADLINE:
        raise UsageError(
            f"--deadline {options.deadline:g}: give more than 0 seconds, at most {LONGEST_DEADLINE:,}."
        )
    bot = Resident(
        options.name,
        lambda: REGISTRY.create_bot(options.name, settings),
        deadline=options.deadline,
    )
    bot.wait_loaded()
    return bot


def _settings(argument: str) -> Mapping[str, Any]:
    is_json = argument.lstrip().startswith(("{", "["))
    try:
        settings = json.loads(argument if is_json else Path(argument).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--configuration {argument}: {error}. Give a JSON object, or a file that holds one."
        ) from None
    if not isinstance(settings, dict):
        raise UsageError(f'--configuration {argument}: not a JSON object. Write it as {{"setting": value}}.')
    return settings


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
