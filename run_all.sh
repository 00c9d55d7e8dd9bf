#!/usr/bin/env bash
# The one door to this project: builds its own environment, then does what it is asked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

help() {
  cat <<'TEXT'
usage: ./run_all.sh [verb] [options]

  test [pytest options]     run the tests
  bench [--quick]           measure the engine against the plain oracle; writes data/benchmark.json
  lab                       open JupyterLab
  --help                    this text

The environment is .venv, built from the pins in environment.yml and rebuilt when they change.
An active conda environment of the name given there is used as it is.
TEXT
}

die() { echo "run_all.sh: $*" >&2; exit 1; }

setup() {
  local name python stamp
  name=$(sed -n 's/^name: *//p' environment.yml)
  if [ "${CONDA_DEFAULT_ENV:-}" = "$name" ]; then return; fi
  for python in python3.11 python3 python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then break; fi
    python=
  done
  [ -n "$python" ] || die "Python 3.11 is needed (none of python3.11, python3, python is it)"
  stamp=$(cat environment.yml pyproject.toml | cksum)
  if command -v flock >/dev/null; then exec 9>.venv.lock; flock 9; fi
  if [ "$(cat .venv/stamp 2>/dev/null)" != "$stamp" ]; then
    echo "Setting up .venv from environment.yml (2-3 minutes, once)" >&2
    rm -rf .venv
    "$python" -m venv .venv || die "could not make .venv (on Debian: apt-get install python3-venv)"
    sed -n '/- pip:/,$ s/^ \{6\}- //p' environment.yml >.venv/requirements.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r .venv/requirements.txt || die "the installation failed; nothing was kept"
    echo "$stamp" >.venv/stamp
  fi
  exec 9>&-
  PATH=$PWD/.venv/bin:$PATH
  export PATH VIRTUAL_ENV=$PWD/.venv
}

case "${1:-}" in
  -h | --help | help) help; exit ;;
esac
verb=${1:-}
[ $# -eq 0 ] || shift
case "$verb" in
  test) setup; exec python -m pytest "$@" ;;
  bench) setup; exec python tests/bench.py "$@" ;;
  lab) setup; exec jupyter lab "$@" ;;
  *) help >&2; die "unknown verb or option '$verb'" ;;
esac
