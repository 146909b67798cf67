#!/usr/bin/env bash
# Runs every check and ends with one line of figures. A failed part does not hide the later ones.
set -uo pipefail
cd "$(dirname "$0")/.."
passed=0
failed=0
mkdir -p artefacts

check() {
  local name=$1
  shift
  echo "== $name"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name" >&2; fi
}

# Runs a test runner and adds the figures of its summary line.
count() {
  local name=$1 log ok bad
  shift
  log=$(mktemp)
  echo "== $name"
  "$@" 2>&1 | tee "$log"
  local code=${PIPESTATUS[0]}
  local line
  line=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -E '^ *(Summary|Tests) |tests run' | tail -1)
  ok=$(grep -oE '[0-9]+ passed' <<<"$line" | grep -oE '[0-9]+' || echo 0)
  bad=$(grep -oE '[0-9]+ (failed|timed out)' <<<"$line" | grep -oE '[0-9]+' | head -1 || true)
  bad=${bad:-0}
  # A runner that broke without a figure has failed all the same.
  if ((code != 0 && bad == 0)); then bad=1; fi
  passed=$((passed + ok))
  failed=$((failed + bad))
  rm -f "$log"
}

check "page: types" bash -c 'cd ui && npm run --silent check'
count "page: tests" bash -c 'cd ui && npm run --silent test'
check "page: build" bash -c 'cd ui && npm run --silent build'
check "format" cargo fmt --all --check
check "lints" cargo clippy --locked --workspace --all-targets -- -D warnings
check "binaries" cargo build --locked -p drawbridge-cli -p drawbridge-desktop --examples --bins
count "tests of the workspace, on a desktop of their own" scripts/desk.sh cargo nextest run --locked --workspace --no-fail-fast
check "window" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop.py
check "window: every page and question" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_pages.py
check "window: an agent uses the screen" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_screen.py
check "window: models, privacy and devices" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_models.py
check "an agent in a real editor" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_editor.py
check "window: keyboard alone" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_keyboard.py
check "tray, notifications and hot key" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_tray.py
check "check-up in the window" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_doctor.py
check "life of the windows" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_life.py
check "window while something is in the way of a start" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_gate.py
check "window without a tray host" env DESK_TRAY=none DESK_BIN="$CARGO_TARGET_DIR/debug/examples/fixture" scripts/desk.sh /usr/bin/python3 tests/desktop_no_tray.py
check "start at login, diagnostics and copying" env DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_login.py
check "start at login without a tray host" env DESK_TRAY=none DESK_BIN="$CARGO_TARGET_DIR/debug" scripts/desk.sh /usr/bin/python3 tests/desktop_login.py
check "packages" env DESK_BIN="$CARGO_TARGET_DIR/debug" /usr/bin/python3 tests/packages.py
# Advisories need the network, which not every machine has: `cargo deny check advisories` by hand.
check "dependencies" cargo deny --locked check licenses bans sources
echo "$passed passed, $failed failed"
((failed == 0))
