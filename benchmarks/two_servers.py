"""Cost of a turn with two servers of sockets and with one, by processor time: two cores hold no more.

    python benchmarks/two_servers.py [--repetitions 3] [--seconds 5] [--chatters 40]

Starts a durable PostgreSQL, a Redis, and two servers with the options of `manage.py serve` and
GenericBot. The same chatters talk alternately with one server, and half of them with each. Prints one JSON
object.

`turns_per_s_by_cpu` is what the servers would do if each had a core for itself and nothing else were
scarce: 1 / (processor time of a server per turn), added up. Its ratio, two to one, is what a second
server brings where there are cores for both.
"""

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from benchmarks.pages import spent
from benchmarks.services import services
from benchmarks.turns import Bench, Server, dialogues_of, make_study, spread, surroundings

DIALOGUES = 500
Result = dict[str, Any]


def measured(options: argparse.Namespace) -> Result:
    """Both ways by turns, on the same services."""
    with ExitStack() as stack:
        postgresql, redis = stack.enter_context(services())
        study = make_study("before_finish")
        servers = [Server(name, "benchmarks.unbounded:application", [], None) for name in ("one", "other")]
        for server in servers:
            server.start()
            stack.callback(server.stop)
        assert postgresql.process
        assert redis.process
        shared = [postgresql.process.pid, redis.process.pid]
        bench = Bench({server.name: server for server in servers}, {}, None, options.seconds)
        seen: dict[str, list[Result]] = {"one_server": [], "two_servers": []}
        for _ in range(options.repetitions):
            for name, used in (("one_server", servers[:1]), ("two_servers", servers)):
                seen[name].append(_load(bench, used, study, options.chatters, shared))
        ratios = {
            f"{key}_two_to_one": spread(
                [two[key] / one[key] for one, two in zip(*seen.values(), strict=True)]
            )
            for key in ("turns_per_s", "turns_per_s_by_cpu", "server_us_per_turn", "shared_us_per_turn")
        }
        return {"runs": seen, **ratios}


def _load(bench: Bench, servers: list[Server], study: Any, chatters: int, shared: list[int]) -> Result:
    """Load these servers at once with equally many chatters; processor times are per turn of all of them."""
    each = [dialogues_of(study, DIALOGUES // len(servers)) for _ in servers]
    before = sum(map(spent, shared))
    with ThreadPoolExecutor(len(servers)) as pool:
        loads = list(
            pool.map(
                lambda server, sockets: bench.load(server.name, sockets, chatters=chatters // len(servers)),
                servers,
                each,
            )
        )
    assert not any(load["errors"] for load in loads), loads
    turns = sum(load["turns"] for load in loads)
    return {
        "turns_per_s": sum(load["turns_per_s"] for load in loads),
        "turns_per_s_by_cpu": sum(1e6 / load["server_cpu_us_per_turn"] for load in loads),
        "server_us_per_turn": sum(load["server_cpu_us_per_turn"] * load["turns"] for load in loads) / turns,
        "shared_us_per_turn": 1e6 * (sum(map(spent, shared)) - before) / turns,  # with warm-up
    }


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3, help="of each way (default: 3)")
    parser.add_argument("--seconds", type=float, default=5.0, help="each repetition lasts (default: 5)")
    parser.add_argument("--chatters", type=int, default=40, help="in all (default: 40)")
    options = parser.parse_args()
    began = time.monotonic()
    result = surroundings() | measured(options)
    print(json.dumps(result | {"duration_s": round(time.monotonic() - began)}, indent=2))


if __name__ == "__main__":
    main()
