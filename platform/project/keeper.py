"""Keep one of our own programs running: start it again when it dies, end it when we are told to end.

    python -m project.keeper NAME ARGUMENT…

For programs that no supervisor of the machine looks after. It imports no settings and no app: it is small.
"""

import os
import signal
import sys
import threading
import time

from project.programs import Program, Watch

GLANCE_SECONDS = 0.1


def main() -> int:
    name, *arguments = sys.argv[1:]
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.set())
    program = Program(name, arguments, dict(os.environ))
    watch = Watch(program, lambda text: print(text, file=sys.stderr, flush=True))
    program.start()
    while not ending.wait(GLANCE_SECONDS):
        watch.glance(time.monotonic())
    program.stop()
    return program.process.returncode if program.process else 0


if __name__ == "__main__":
    sys.exit(main())
