#!/bin/sh
# Sets everything up and grades a sample answer; with --serve it goes on to start the service.
set -eu
. "$(dirname "$0")/setup.sh"
.venv/bin/grader grade zero-grad "backward() adds the new gradients to the ones that are already stored in .grad, so we \
have to clear them before the next batch. Otherwise every step would follow the sum of all earlier batches."
if [ "${1:-}" = "--serve" ]; then
    shift
    exec .venv/bin/grader serve "$@"
fi
