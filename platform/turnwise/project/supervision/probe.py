"""Health checks of single programs, for container engines; without Django, so that each is quick.

    python -m turnwise.project.supervision.probe http HOST:PORT
    python -m turnwise.project.supervision.probe uwsgi HOST:PORT
    python -m turnwise.project.supervision.probe process WORD
    python -m turnwise.project.supervision.probe fresh FILE SECONDS

Exits with 0 if the program works, else with 1 and a sentence. `/readyz` says how all programs are together.
"""

import argparse
import http.client
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from glob import glob

import psutil

SECONDS = 5.0


def answers_http(address: str) -> str:
    """Check that a server of HTTP answers at this address; any answer does."""
    connection = http.client.HTTPConnection(address, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        return f"{address} does not answer: {error}."
    finally:
        connection.close()
    return ""


def answers_uwsgi(address: str) -> str:
    """Check that uWSGI answers at this address in its own protocol."""
    host, _, port = address.rpartition(":")
    values = {"REQUEST_METHOD": "GET", "PATH_INFO": "/healthz", "SERVER_PROTOCOL": "HTTP/1.1"}
    values |= {"REQUEST_URI": "/healthz", "HTTP_HOST": "localhost", "SERVER_NAME": "localhost"}
    values |= {"SERVER_PORT": port, "QUERY_STRING": ""}
    body = b"".join(struct.pack("<H", len(part)) + part.encode() for pair in values.items() for part in pair)
    try:
        with socket.create_connection((host, int(port)), SECONDS) as connection:
            connection.sendall(struct.pack("<BHB", 0, len(body), 0) + body)
            said = connection.recv(8)
    except OSError as error:
        return f"{address} does not answer: {error}."
    return "" if said.startswith(b"HTTP/") else f"{address} closes the connection without an answer."


def processes_with(word: str) -> Iterator[psutil.Process]:
    """Processes that have the word in their command and are not dead; no probes, whose own command has it."""
    for process in psutil.process_iter(["cmdline", "status"]):
        command = " ".join(process.info["cmdline"] or ())
        is_probe = "supervision.probe" in command
        if word in command and not is_probe and process.info["status"] != psutil.STATUS_ZOMBIE:
            yield process


def runs(word: str) -> str:
    """Check that a process has the word in its command and is not dead."""
    return "" if any(processes_with(word)) else f"No process has {word} in its command."


def is_fresh(file: str, seconds: float) -> str:
    """Check that a file, whose name may go on, was written within the last seconds."""
    written = max((os.stat(path).st_mtime for path in glob(f"{file}*")), default=0.0)
    age = time.time() - written
    return "" if age < seconds else f"{file} was not written in the last {seconds:g} seconds."


def main() -> int:
    """Run the check that the command line names."""
    parser = argparse.ArgumentParser(prog="turnwise.project.supervision.probe")
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in ("http", "uwsgi"):
        kinds.add_parser(kind).add_argument("address")
    kinds.add_parser("process").add_argument("word")
    fresh = kinds.add_parser("fresh")
    fresh.add_argument("file")
    fresh.add_argument("seconds", type=float)
    options = parser.parse_args()
    match options.kind:
        case "http":
            problem = answers_http(options.address)
        case "uwsgi":
            problem = answers_uwsgi(options.address)
        case "process":
            problem = runs(options.word)
        case _:
            problem = is_fresh(options.file, options.seconds)
    if problem:
        print(problem, file=sys.stderr)
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main())
