#!/bin/sh
# Renews static/vendor: the parts of D3 that draw the charts of reports, bundled into one module, with their licences.
# scripts/vendor/package.json pins versions, package-lock.json the hash of each package; `npm ci` takes no others.
# To move to newer ones: edit package.json, `npm install --package-lock-only` there, run this, and commit all of it.
set -eu
here=scripts/vendor
build=.venv/vendor
mkdir -p "$build"
cp "$here/package.json" "$here/package-lock.json" "$here/d3.js" "$build"
npm ci --silent --no-audit --no-fund --prefix "$build"
"$build/node_modules/.bin/esbuild" "$build/d3.js" --bundle --minify --format=esm --target=es2022 --legal-comments=none \
    --banner:js="/* D3 (d3js.org), ISC licence: see d3.LICENSE. Made by scripts/vendor.sh; do not edit. */" \
    --outfile=static/vendor/d3.js --log-level=warning
for module in "$build"/node_modules/d3-*/ "$build"/node_modules/internmap/; do
    printf '%s\n\n' "$(basename "$module")"
    cat "$module/LICENSE"
    printf '\n'
done >static/vendor/d3.LICENSE
(cd static/vendor && sha256sum d3.js d3.LICENSE >SHA256SUMS)
