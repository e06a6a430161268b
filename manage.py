#!/usr/bin/env python
"""Run administrative tasks."""

import gc
import os
import sys
from pathlib import Path


def main() -> None:
    # Nothing that is imported is garbage, and looking for some took a sixth of a start.
    gc.set_threshold(50_000, 20, 20)
    # platform/ is a source root, not a package: the apps inside it are imported by their own names.
    root = Path(__file__).resolve().parent
    sys.path[:0] = [str(root), str(root / "platform")]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
    if sys.argv[1:2] == ["serve"]:
        from turnwise.project.serving import become

        become(sys.argv[2:])
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
