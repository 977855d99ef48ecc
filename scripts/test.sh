#!/bin/sh
# Sets everything up and runs lint, types and tests; arguments go to pytest (without any, slow tests are left out).
set -eu
extra=dev
. "$(dirname "$0")/setup.sh"
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
[ $# -gt 0 ] || set -- -m "not slow"
exec .venv/bin/python -m pytest "$@"
