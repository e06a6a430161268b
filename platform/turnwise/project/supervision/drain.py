"""Wait until a program may be stopped without a loss. Container engines run it before they stop one.

    python -m turnwise.project.supervision.drain keeper WORD
    python -m turnwise.project.supervision.drain port PORT

`keeper` has the program of a keeper finish what is under way, and waits until both have ended; WORD is in
their command. `port` waits until no connection to a server's port is open: nginx opens one for each page. Run
it once no new requests arrive.
"""

import argparse
import sys
import time

import psutil

from turnwise.project.supervision.probe import processes_with
from turnwise.project.supervision.processes import DRAIN, is_gone

GLANCE_SECONDS = 0.1


def drain_keeper(word: str) -> str:
    """Have the keepers with this word in their command drain, and wait until they have ended.

    Returns:
        A sentence if there is none, else "".
    """
    kept = {process.pid: process for process in processes_with(word) if _is_keeper(process)}
    # A copy has the command of its keeper, which passes the signal on to it.
    keepers = [process for process in kept.values() if process.ppid() not in kept]
    for keeper in keepers:
        keeper.send_signal(DRAIN)
    while not all(map(is_gone, keepers)):
        time.sleep(GLANCE_SECONDS)
    return "" if keepers else f"No keeper runs {word}."


def _is_keeper(process: psutil.Process) -> bool:
    return "turnwise.project.supervision.keeper" in process.cmdline()


def wait_for_connections(port: int) -> str:
    """Wait until no connection to a server at this port of this machine is open, and return ""."""
    while any(
        each.status == psutil.CONN_ESTABLISHED and each.laddr[1:] == (port,)
        for each in psutil.net_connections("tcp")
    ):
        time.sleep(GLANCE_SECONDS)
    return ""


def main() -> int:
    """Wait for what the command line names; 1 and a sentence if it is not there."""
    parser = argparse.ArgumentParser(prog="turnwise.project.supervision.drain")
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("keeper").add_argument("word")
    kinds.add_parser("port").add_argument("port", type=int)
    options = parser.parse_args()
    is_port = options.kind == "port"
    problem = wait_for_connections(options.port) if is_port else drain_keeper(options.word)
    if problem:
        print(problem, file=sys.stderr)
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main())
