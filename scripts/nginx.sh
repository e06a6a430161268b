#!/bin/sh
# Print the path of an nginx for the tests, fetching one if there is none. Nothing is installed on the system.
# Order: TURNWISE_NGINX, PATH, what was fetched before, Debian's package, unpacked into a folder.
# usage: scripts/nginx.sh [folder to unpack into]
set -u
folder=${1:-.venv/nginx}

works() { [ -n "$1" ] && "$1" -v >/dev/null 2>&1; }
say() { echo "nginx.sh: $*" >&2; }
found() { echo "$1"; exit 0; }

# Depending on the release, this package contains the program or depends on one that does.
unpacked() {
    rm -rf "$folder" && mkdir -p "$folder" || return 1
    for package in nginx nginx-light nginx-core; do
        (cd "$folder" && apt-get -qq download "$package" && dpkg-deb -x "$package"_*.deb .) >&2
        works "$folder/usr/sbin/nginx" && return
    done
    return 1
}

if [ -n "${TURNWISE_NGINX:-}" ]; then
    works "$TURNWISE_NGINX" && found "$TURNWISE_NGINX"
    say "TURNWISE_NGINX=$TURNWISE_NGINX does not run. Name an nginx that does, or unset it."
    exit 1
fi

path=$(PATH="$PATH:/usr/sbin" command -v nginx); works "$path" && found "$path"
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
works "$folder/usr/sbin/nginx" && found "$folder/usr/sbin/nginx"

if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    say "fetching Debian's package nginx"
    unpacked && found "$folder/usr/sbin/nginx"
    if [ "$(id -u)" = 0 ]; then # the lists of packages may be missing or old
        apt-get update -qq >&2 && unpacked && found "$folder/usr/sbin/nginx"
    fi
fi

say "no nginx was found and none could be fetched. Tests that need it are skipped."
say "Install nginx with your system's packages, or set TURNWISE_NGINX to its path."
exit 1
