#!/bin/sh
# Check the types of the pages' JavaScript, which are written as JSDoc, with TypeScript's compiler (tsconfig.json).
# The compiler comes from the npm registry and is kept in .venv. Where there is no Node.js, or no registry, a sentence
# says so and nothing fails: the browser tests run everywhere.
set -eu
version=7.0.2
compiler=.venv/typescript-$version
if ! command -v npm >/dev/null 2>&1; then
    echo "JavaScript types: not checked, as there is no Node.js with npm here."
    exit 0
fi
if [ ! -x "$compiler/node_modules/.bin/tsc" ] &&
    ! npm install --silent --no-save --no-audit --no-fund --prefix "$compiler" "typescript@$version" >/dev/null 2>&1; then
    echo "JavaScript types: not checked, as typescript@$version could not be fetched from the npm registry."
    exit 0
fi
"$compiler/node_modules/.bin/tsc" --project tsconfig.json
echo "JavaScript types: no errors."
