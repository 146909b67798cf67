#!/usr/bin/env bash
# How the files here were made, by the bundler's own signer. The keys are thrown away; nothing needs this to run again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tauri=$here/../../../../ui/node_modules/.bin/tauri
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for key in good other; do "$tauri" signer generate --ci -w "$work/$key.key" >/dev/null; done
sign() { # KEY FILE VERSION NAME
  cp "$here/$2.AppImage" "$work/Drawbridge_$3_amd64.AppImage"
  "$tauri" signer sign -f "$work/$1.key" -p "" "$work/Drawbridge_$3_amd64.AppImage" >/dev/null
  cp "$work/Drawbridge_$3_amd64.AppImage.sig" "$here/$4.sig"
}
sign good new 9.1.0 new
sign other new 9.1.0 other
sign good old 0.0.1 old
cp "$work/good.key.pub" "$here/key.pub"
