"""The subcommand `turnwise api`: one call of the REST API from the shell, its answer as JSON."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import httpx

from turnwise.client.blocking.connection import Client
from turnwise.client.errors import ApiError

REFUSED, USAGE_ERROR, UNREACHABLE = 1, 2, 3
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ADDRESS = "http://localhost:8000"
EXAMPLES = """examples:
  turnwise api GET /studies -q state=open
  turnwise api GET /studies/CODE/labels --all > labels.jsonl
  turnwise api POST /studies -b '{"title": "Small talk", "preset": "meena-interactive"}'
  turnwise api PATCH /studies/CODE -b @changes.json
  turnwise api GET /studies/CODE/tables/turns -q format=parquet -o turns.parquet

The token is read from TURNWISE_TOKEN, the address from TURNWISE_URL (http://localhost:8000 if it is not set).
A refusal ends with status 1, a wrong command with 2, a server that cannot be reached with 3."""


def main(arguments: Sequence[str]) -> int:
    """Send the request, print the answer, and return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    token = os.environ.get("TURNWISE_TOKEN", "").strip()
    if not token:
        return _complain("Set TURNWISE_TOKEN to a token from the page Tokens.", USAGE_ERROR)
    address = os.environ.get("TURNWISE_URL", "").strip() or ADDRESS
    if not address.startswith(("http://", "https://")):
        return _complain(f"TURNWISE_URL is {address!r}: begin it with http:// or https://.", USAGE_ERROR)
    path, query = _path(options.path, parser), _query(options.query, parser)
    body = _body(options.body, parser)
    try:
        with Client(address, token) as client:
            _call(client, options, path, query, body)
        sys.stdout.flush()
    except BrokenPipeError:  # of `| head`, which has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it ends
    except ApiError as error:
        return _complain(str(error), REFUSED)
    except httpx.HTTPError as error:
        return _complain(f"{address} cannot be reached: {error}", UNREACHABLE)
    return 0


def _call(client: Client, options: argparse.Namespace, path: str, query: dict[str, str], body: Any) -> None:
    if options.out:
        print(client.download(path, Path(options.out), **query))
    elif options.all:
        for row in client.pages(path, **query):
            print(json.dumps(row, ensure_ascii=False))
    else:
        answer = client.call(options.method, path, body, query=query)
        print(json.dumps(answer, ensure_ascii=False, indent=2))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="turnwise api",
        description="Call the REST API, which the page API of the manual describes.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("method", choices=METHODS, type=str.upper, metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("path", metavar="PATH", help="path below /api, such as /studies")
    parser.add_argument(
        "-q", "--query", action="append", default=[], metavar="NAME=VALUE", help="parameter of the address"
    )
    parser.add_argument("-b", "--body", metavar="JSON", help="what to send; @FILE reads a file, - the input")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--all", action="store_true", help="all pages of a list, one row of JSON per line")
    how.add_argument("-o", "--out", metavar="FILE", help="write a download to this file")
    return parser


def _path(given: str, parser: argparse.ArgumentParser) -> str:
    path = "/" + given.removeprefix("/api").lstrip("/")
    if "://" in given or "?" in given:
        parser.error(f"{given!r} is no path. Give what follows /api, and parameters with -q.")
    return path


def _query(given: Sequence[str], parser: argparse.ArgumentParser) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := next((name for name, sign, _value in pairs if not (name and sign)), None):
        parser.error(f"-q {wrong}: write it as NAME=VALUE.")
    return {name: value for name, _sign, value in pairs}


def _body(given: str | None, parser: argparse.ArgumentParser) -> Any:
    if given is None:
        return None
    try:
        if given == "-":
            text = sys.stdin.read()
        else:
            text = Path(given[1:]).read_text(encoding="utf-8") if given.startswith("@") else given
        return json.loads(text)
    except OSError as error:
        _wrong_body(parser, f"{given[1:]} cannot be read: {error.strerror}.")
    except ValueError as error:
        _wrong_body(parser, f"what it holds is not JSON: {error}.")


def _wrong_body(parser: argparse.ArgumentParser, why: str) -> NoReturn:
    parser.error(f"-b: {why}")


def _complain(why: str, status: int) -> int:
    print(why, file=sys.stderr)
    return status
