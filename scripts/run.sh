#!/usr/bin/env bash
# Starts the practice platform and Drawbridge beside it, with a state folder of their own. Ctrl-C ends all.
set -euo pipefail
bin="$CARGO_TARGET_DIR/debug"
port="${DRAWBRIDGE_PRACTICE_PORT:-8470}"
export DRAWBRIDGE_PLATFORM_URL="http://127.0.0.1:$port"
export DRAWBRIDGE_STATE_DIR="${DRAWBRIDGE_STATE_DIR:-${XDG_STATE_HOME:-$HOME/.local/state}/drawbridge-practice}"
mkdir -p -m 700 "$DRAWBRIDGE_STATE_DIR"

addresses="$(mktemp)"
"$bin/drawbridge" practice --port "$port" >"$addresses" &
practice=$!
trap 'kill "$practice" 2>/dev/null || true; wait "$practice" 2>/dev/null || true; rm -f "$addresses"' EXIT
for _ in $(seq 100); do
  kill -0 "$practice" 2>/dev/null || { echo "The practice platform did not start. Is port $port taken? Set DRAWBRIDGE_PRACTICE_PORT." >&2; exit 1; }
  # Printed once both answer.
  [ -s "$addresses" ] && break
  sleep 0.1
done
echo "Practice platform and console: $DRAWBRIDGE_PLATFORM_URL"

# Without a model of their own a person still sees one answer: it only counts and repeats, and says so. Whoever has set an address, or
# has Ollama running at the usual one, keeps it.
model="$(sed -n 's/^Practice model: //p' "$addresses")"
origins="$("$bin/drawbridge" config show --origin 2>/dev/null || true)"
if [ -n "$model" ] && grep -q '^ollama_url = .*# default$' <<<"$origins" &&
  ! (exec 3<>/dev/tcp/127.0.0.1/11434) 2>/dev/null; then
  export DRAWBRIDGE_OLLAMA_URL="$model"
  echo "Practice model, since no Ollama runs here: $model (asked once you allow the local model: under Models in the window, or by enable_local_llm = true in config.toml)"
fi

if [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  echo "There is no display here, so there is no window: the engine runs beside the practice platform. Ctrl-C ends both."
  # The practice platform forgets every sign-in when it ends, so each run begins with one.
  echo "To sign in, open this page in a browser on this computer:"
  "$bin/drawbridge" auth --no-browser || {
    code=$?
    # 78: no keychain can be reached. The message before this one says so; here is how to go on.
    if ((code == 78)); then echo "For a try: DRAWBRIDGE_KEYCHAIN_PASSPHRASE='any words' make run" >&2; fi
    exit "$code"
  }
  echo "The engine runs. Attach a folder in the console: $DRAWBRIDGE_PLATFORM_URL"
  "$bin/drawbridge" start --headless
else
  "$bin/drawbridge-desktop"
fi
