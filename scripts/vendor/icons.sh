#!/bin/sh
# Write one sprite of the icons in icons.txt: icons.sh FOLDER-OF-LUCIDE >icons.svg
set -eu
printf '<svg xmlns="http://www.w3.org/2000/svg">\n<!-- Lucide (lucide.dev), ISC licence: see lucide.LICENSE. Made by scripts/vendor.sh; do not edit. -->\n'
while read -r name; do
    printf '<symbol id="%s" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">' "$name"
    # Content between the opening and the closing tag, on one line.
    sed -n '/^>/,/^<\/svg>/p' "$1/icons/$name.svg" | sed '1d;$d' | tr -d '\n' | sed 's/  *</</g'
    printf '</symbol>\n'
done <"$(dirname "$0")/icons.txt"
printf '</svg>\n'
