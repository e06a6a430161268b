#!/usr/bin/env python
"""Run administrative tasks."""

import os
import sys
from pathlib import Path


def main() -> None:
    # platform/ is a source root, not a package: the apps inside it are imported by their own names.
    root = Path(__file__).resolve().parent
    sys.path[:0] = [str(root), str(root / "platform")]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
    if sys.argv[1:2] == ["serve"]:
        from turnwise.project.supervision.serving import become

        become(sys.argv[2:])
    from turnwise.live.subprocesses import collect_less_often

    collect_less_often()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
