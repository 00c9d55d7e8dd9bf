#!/usr/bin/env bash
# The command of this project: builds its own environment, then runs a verb.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

help() {
  cat <<'TEXT'
usage: ./run_all.sh [verb] [options]

  reproduce, or no verb     run all notebooks on the records; figures, tables, numbers, PDF
      --profile smoke           the whole pipeline with tiny runs of its own, in build/smoke (2-3 minutes)
      --fresh                   train from nothing into build/fresh: hours, a bar tells how many; resumes when started again
                                (delete build/fresh to begin anew)
      --study table             only the statistics (with --fresh: training those runs, minutes), published values beside ours;
                                with --fresh or --profile smoke also main, no_penalty, expanded or as_written
      --only NN                 only that notebook (may be repeated)
      --workers N, --scheduler ADDRESS   where to train
      --output FOLDER           another home for results, and for records that are trained (default: here, build/smoke or build/fresh)
      --no-pdf                  everything but the PDF
      --save                    write executed notebooks back to notebooks/
  status                    which outputs are older than what they were made from, and why
  sweep [--help]            train the runs that are not on record yet
  verify                    check every record without training: metrics recomputed from parameters, to the bit
  audit [--help]            retrain a random sample of the records and compare to the bit
  test [pytest options]     run all tests (about 12 minutes on two cores)
  test --fast [options]     unit tests only: no notebook, browser, cluster or environment (one to two minutes)
  bench [--quick]           measure the engine against the plain oracle; writes data/benchmark.json
  lab [jupyter options]     open JupyterLab at the quickstart (as root too: containers); the explorer is beside it
  --help                    this text

The environment is .venv, built from the pins in environment.yml and constraints.txt and rebuilt when they change.
An active conda environment of the name given there is used as it is.
As root with apt-get, LaTeX (for the PDF) and Chromium (for the tests) are installed if they are missing.
TEXT
}

die() { echo "run_all.sh: $*" >&2; exit 1; }

lock() { if command -v flock >/dev/null; then flock "$@" 9; fi; }

build() {
  for python in python3.11 python3 python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then break; fi
    python=
  done
  [ -n "$python" ] || die "Python 3.11 is needed (none of python3.11, python3, python is it)"
  if [ ! -e .venv/stamp ] && [ -e .venv.old ]; then restore; fi # a set-up was killed
  if is_current; then return; fi
  echo "Setting up .venv from environment.yml (2-3 minutes, once)" >&2
  rm -rf .venv.old
  [ ! -e .venv ] || mv .venv .venv.old
  trap restore EXIT
  install "$python" || die "the installation failed, see build/set-up.log (it needs a network); what was there is kept"
  echo "$stamp" >.venv/stamp
  trap - EXIT
  rm -rf .venv.old
}

# Put back the environment that an unfinished set-up has moved aside.
restore() {
  rm -rf .venv
  [ ! -e .venv.old ] || mv .venv.old .venv
}

install() {
  mkdir -p build
  {
    "$1" -m venv .venv || { echo "on Debian: apt-get install python3-venv"; return 1; }
    sed -n '/- pip:/,$ s/^ \{6\}- //p' environment.yml >.venv/requirements.txt
    cp constraints.txt .venv # the requirements name it, and pip looks beside them
    .venv/bin/python -m pip install -q --disable-pip-version-check -r .venv/requirements.txt
  } >build/set-up.log 2>&1
}

is_current() { [ "$(cat .venv/stamp 2>/dev/null)" = "$stamp" ] && .venv/bin/python -c "" 2>/dev/null; }

setup() {
  local name stamp waiting=
  unset PYTHONPATH PYTHONHOME # other versions of the library, or another Python
  name=$(sed -n 's/^name: *//p' environment.yml)
  if [ "${CONDA_DEFAULT_ENV:-}" = "$name" ]; then return; fi
  stamp="$PWD $(cat environment.yml constraints.txt pyproject.toml | cksum)"
  exec 9>.venv.lock # held, shared, by whoever works in .venv; whoever rebuilds it must be alone
  until lock -s && is_current; do
    lock -u
    if lock -n -x; then
      build
    else
      [ -n "$waiting" ] || echo "Waiting: .venv has to be rebuilt, and another ./run_all.sh still uses it" >&2
      waiting=yes
      sleep 1
    fi
  done
  PATH=$PWD/.venv/bin:$PATH
  export PATH VIRTUAL_ENV=$PWD/.venv
}

# Debian packages that hold the programs $1 (one of them suffices), for $2: root installs them, others read the command.
install_packages() {
  local programs=$1 purpose=$2 program
  shift 2
  for program in $programs; do
    if command -v "$program" >/dev/null; then return; fi
  done
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Missing for $purpose; on Debian or Ubuntu: sudo apt-get install --no-install-recommends $*" >&2
    return
  fi
  echo "Installing for $purpose (once): apt-get install --no-install-recommends $*" >&2
  mkdir -p build
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >build/apt.log 2>&1 9>&-; then
    echo "apt-get failed, see build/apt.log; going on without" >&2
  fi
}

install_latex() { install_packages latexmk "the PDF" latexmk texlive-latex-extra texlive-fonts-recommended; }

install_chromium() { install_packages "chromium chromium-browser google-chrome" "the tests in a browser" chromium; }

case "${1:-}" in
  -h | --help | help) help; exit ;;
esac
verb=${1:-}
case "$verb" in
  test)
    shift; setup
    if [ "${1:-}" = --fast ]; then
      shift
      set -- -m "not notebook and not browser and not cluster and not environment and not slow" "$@"
    else
      install_latex; install_chromium
    fi
    exec python -m pytest "$@" ;;
  bench) shift; setup; exec python tests/bench.py "$@" ;;
  lab)
    shift; setup
    if [ "$(id -u)" = 0 ]; then set -- --allow-root "$@"; fi
    exec jupyter lab --LabApp.default_url=/lab/tree/notebooks/00_quickstart.ipynb "$@" ;;
  status | sweep | verify | audit) setup; exec python -m pinnlib "$@" ;;
  "" | -* | reproduce)
    if [ "$verb" = reproduce ]; then shift; fi
    setup
    case " $* " in
      *" --no-pdf "* | *" --output"* | *" --fresh "* | *smoke* | *" --help "* | *" -h "*) ;; # no PDF
      *) install_latex ;;
    esac
    exec python -m pinnlib reproduce "$@" ;;
  *) echo "run_all.sh: unknown verb '$verb'; ./run_all.sh --help lists them" >&2; exit 2 ;;
esac
