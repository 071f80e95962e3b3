# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables that tools/build/setup.sh has or reads
# ./qkv python, ./qkv notebook and ./qkv ladder: Python that can import qkv. Sourced, after tools/build/setup.sh.

# The Python that the package is built for, unless a virtual environment of it is active.
choose_python() {
  python=/usr/bin/python3
  [[ -x $python ]] || python=python3
  [[ -n ${VIRTUAL_ENV:-} ]] || return 0
  if "$VIRTUAL_ENV/bin/python3" -c 'import qkv' 2>/dev/null; then
    python=$VIRTUAL_ENV/bin/python3
  else
    say "the Python of $VIRTUAL_ENV cannot import qkv and NumPy; going on with $python"
  fi
}

prepare_python() {
  local reason
  if reason=$(write_to_build); then
    ensure_packages "${packages[@]}" "${python_packages[@]}"
    configure_options=(QKV_PYTHON=ON)
    build release without_tests python_package || exit 1
  else
    is_up_to_date "$root"/build/release/python/qkv/_qkv.*.so || die "$reason"
  fi
  export PYTHONPATH="$root/build/release/python${PYTHONPATH:+:$PYTHONPATH}"
  choose_python
}

run_python() {
  prepare_python
  exec "$python" "$@"
}

run_ladder() {
  [[ -f $root/apps/ladder/ladder.py ]] || die "there is no verb \"ladder\": apps/ladder is not there"
  prepare_python
  exec "$python" -B "$root/apps/ladder/ladder.py" "$@"
}

# JupyterLab where somebody has installed it, else Debian's classic notebook.
run_notebook() {
  local reason
  reason=$(write_to_build) || die "$reason"
  ensure_packages "${notebook_packages[@]}"
  prepare_python
  "$python" "$root/tools/notebooks.py" "$root/examples/python" "$root/build/notebooks"
  local server=notebook options=("--notebook-dir=$root/build/notebooks")
  if "$python" -c 'import jupyterlab' 2>/dev/null; then server=jupyterlab; fi
  if ((EUID == 0)); then options+=(--allow-root); fi
  if [[ -z ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]]; then options+=(--no-browser); fi
  exec "$python" -m "$server" "${options[@]}" "$@"
}
