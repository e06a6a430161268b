"""What is waited for before a program is stopped; `test_keeper` has the keepers."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from turnwise.project.supervision.drain import wait_for_connections


def test_a_server_may_be_stopped_once_its_last_connection_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as threads:
        port = listener.getsockname()[1]
        assert wait_for_connections(port) == ""
        asking = socket.create_connection(("127.0.0.1", port))
        answering, _ = listener.accept()
        waiting = threads.submit(wait_for_connections, port)
        with pytest.raises(TimeoutError):
            waiting.result(1)
        answering.close()
        asking.close()

        assert waiting.result(60) == ""
