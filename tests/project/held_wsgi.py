"""Pages that are not loaded as long as the file is there that HOLD names."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from turnwise.project.uwsgi_pages import let_in

while Path(os.environ["HOLD"]).exists():
    time.sleep(0.02)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [])
    return [b"here"]


let_in()
