#!/bin/sh
# Sets everything up and runs lint, types and tests; arguments go to pytest.
set -eu
extra=dev
. "$(dirname "$0")/setup.sh"
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
exec .venv/bin/python -m pytest "$@"
