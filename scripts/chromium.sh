#!/bin/sh
# Print the path of a Chromium for the browser tests, installing one if there is none.
# Order: TURNWISE_CHROMIUM, PATH, Playwright's download, Debian's package (as root), a new download.
# The headless shell is preferred: the same engine without the browser's windows, for half the processor time.
# usage: scripts/chromium.sh [python with playwright]
set -u
python=${1:-.venv/bin/python}

works() { [ -n "$1" ] && "$1" --version >/dev/null 2>&1; }
say() { echo "chromium.sh: $*" >&2; }
found() { echo "$1"; exit 0; }

in_path() {
    for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" && return
    done
}

downloaded() {
    "$python" -c 'from playwright.sync_api import sync_playwright as start
with start() as playwright: print(playwright.chromium.executable_path)' 2>/dev/null
}

if [ -n "${TURNWISE_CHROMIUM:-}" ]; then
    works "$TURNWISE_CHROMIUM" && found "$TURNWISE_CHROMIUM"
    say "TURNWISE_CHROMIUM=$TURNWISE_CHROMIUM does not run. Name a Chromium that does, or unset it."
    exit 1
fi

path=$(in_path); works "$path" && found "$path"
path=$(downloaded); works "$path" && found "$path"

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    for package in chromium-headless-shell chromium; do
        say "installing Debian's package $package"
        if apt-get install -y -qq --no-install-recommends "$package" >&2; then
            path=$(in_path); works "$path" && found "$path"
        fi
    done
fi

say "downloading Playwright's Chromium"
"$python" -m playwright install chromium >&2
path=$(downloaded); works "$path" && found "$path"

if [ -x "$path" ]; then
    say "$path was downloaded but does not run: libraries of the system are missing."
    say "As root: $python -m playwright install-deps chromium"
else
    say "no Chromium was found and none could be installed (no root for apt-get, or no network)."
    say "Install chromium with your system's packages, or set TURNWISE_CHROMIUM to its path."
fi
exit 1
