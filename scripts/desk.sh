#!/usr/bin/env bash
# Runs a command on a desktop of its own: virtual display, home, session bus, window manager, open keyring, tray host.
# DESK_TRAY=none leaves the tray host out. It never touches the desktop it is started from.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${DESK_INNER:-}" ]; then
  base=$(mktemp -d)
  mkdir -m 700 "$base/run"
  mkdir -p "$base/home"
  mkfifo "$base/number"
  Xvfb -displayfd 3 -screen 0 1280x1000x24 -nolisten tcp 3>"$base/number" 2>"$base/xvfb.log" &
  xvfb=$!
  read -r -t 20 number <"$base/number" || { echo "Xvfb did not start" >&2; cat "$base/xvfb.log" >&2; kill "$xvfb"; exit 1; }
  # The home changes below; the toolchain stays where it is.
  export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}"
  # Before the bus: what the bus starts inherits from it.
  export DISPLAY=":$number" XDG_RUNTIME_DIR="$base/run" HOME="$base/home" XDG_CONFIG_HOME="$base/home/.config"
  export XDG_DATA_HOME="$base/home/.local/share" XDG_CACHE_HOME="$base/home/.cache" XDG_STATE_HOME="$base/home/.local/state"
  export DESK_INNER=1 NO_AT_BRIDGE=1 LIBGL_ALWAYS_SOFTWARE=1
  unset WAYLAND_DISPLAY
  dbus-run-session -- "$here/desk.sh" "$@"
  code=$?
  kill "$xvfb"
  wait "$xvfb" 2>/dev/null
  rm -rf "$base"
  exit "$code"
fi
unset DESK_INNER
started=()
openbox >/dev/null 2>&1 &
started+=($!)
dunst >/dev/null 2>&1 &
started+=($!)
printf 'practice' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
if [ "${DESK_TRAY:-}" != none ]; then
  coproc host { exec /usr/bin/python3 "$here/watcher.py"; }
  started+=("$host_PID")
  read -r -t 20 _ <&"${host[0]}" || { echo "the tray host did not start" >&2; exit 1; }
fi
"$@"
code=$?
kill "${started[@]}" 2>/dev/null
exit "$code"
