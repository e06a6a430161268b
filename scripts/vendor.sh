#!/bin/sh
# Update static/vendor: the parts of D3 that draw the charts of reports, bundled into one module; the typefaces of the
# pages of researchers; the icons that scripts/vendor/icons.txt names. Each with its licence.
# scripts/vendor/package.json pins versions, package-lock.json the hash of each package; `npm ci` takes no others.
# To move to newer ones: edit package.json, `npm install --package-lock-only` there, run this, and commit all of it.
set -eu
here=scripts/vendor
build=.venv/vendor
to=static/vendor
mkdir -p "$build"
cp "$here/package.json" "$here/package-lock.json" "$here/d3.js" "$build"
npm ci --silent --no-audit --no-fund --prefix "$build"
packages=$build/node_modules
"$packages/.bin/esbuild" "$build/d3.js" --bundle --minify --format=esm --target=es2022 --legal-comments=none \
    --banner:js="/* D3 (d3js.org), ISC licence: see d3.LICENSE. Made by scripts/vendor.sh; do not edit. */" \
    --outfile="$to/d3.js" --log-level=warning
for module in "$packages"/d3-*/ "$packages"/internmap/; do
    printf '%s\n\n' "$(basename "$module")"
    cat "$module/LICENSE"
    printf '\n'
done >"$to/d3.LICENSE"
for face in source-sans-3 source-serif-4; do
    for letters in latin latin-ext; do
        cp "$packages/@fontsource-variable/$face/files/$face-$letters-wght-normal.woff2" "$to/$face-$letters.woff2"
    done
    cp "$packages/@fontsource-variable/$face/LICENSE" "$to/$face.LICENSE"
done
"$here/icons.sh" "$packages/lucide-static" >"$to/icons.svg"
cp "$packages/lucide-static/LICENSE" "$to/lucide.LICENSE"
(cd "$to" && sha256sum d3.js icons.svg ./*.LICENSE ./*.woff2 | sed 's|\./||' >SHA256SUMS)
