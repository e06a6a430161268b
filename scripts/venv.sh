#!/bin/sh
# Create the virtual environment in the folder $1 with the Python $2, or says what is missing.
set -eu
folder=$1 python=$2

command -v "$python" >/dev/null || {
    echo "There is no $python here. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2
    exit 1
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Turnwise needs Python 3.11 or newer, and $python is $("$python" --version 2>&1)." >&2
    echo "Install a newer one and name it: make PYTHON=python3.12" >&2
    exit 1
}
"$python" -c 'import ensurepip, venv' 2>/dev/null || {
    echo "$python has no module venv. On Debian and Ubuntu: apt-get install python3-venv" >&2
    exit 1
}
"$python" -m venv "$folder"
