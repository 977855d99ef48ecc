# Sourced by the other scripts: makes .venv beside the project and installs the pinned set into it.
# extra: empty for what is needed to run, "dev" for the tests too. PYTHON chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."

python=""
for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 or newer is needed; set PYTHON to its path." >&2
    exit 2
fi

: "${extra:=}"
stamp=".venv/.installed-${extra:-run}"
wanted=$(cat constraints.txt pyproject.toml | cksum)
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ]; then
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    echo "Installing into .venv (about 2 GB with PyTorch; a minute or more) ..." >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".${extra:+[$extra]}"
    printf '%s\n' "$wanted" >"$stamp"
fi
