#!/usr/bin/env bash
# Makes the Linux packages of this machine's own kind: dist/*.deb, *.rpm, *.AppImage and their SHA256SUMS.
#   PROGRAMS=DIR   take built programs from there instead of building them
#   OUT=DIR        put the packages there instead of dist
#   BUNDLES=...    which kinds; "deb rpm appimage" without it
#   DRAFT=1        quick and large: for tests
#   PUBLISH=1      fail where a package cannot be made as it should be; otherwise it is left out, with a word
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-dist}
read -ra bundles <<<"${BUNDLES:-deb rpm appimage}"
mkdir -p "$out"
out=$(cd "$out" && pwd)
# Whoever publishes packages puts an address here that is read.
export DEB_MAINTAINER="${DEB_MAINTAINER:-Drawbridge contributors <nobody@drawbridge.invalid>}"

if [ -z "${PROGRAMS:-}" ]; then
  cargo build --locked --release -p drawbridge-cli -p drawbridge-desktop
  PROGRAMS="$CARGO_TARGET_DIR/release"
fi

# The bundler writes into the programs that it packs, so it gets copies, in a target folder of its own.
work="$out/work"
rm -rf "$work"
mkdir -p "$work/target/release"
for program in drawbridge drawbridge-desktop; do
  strip -o "$work/target/release/$program" "$PROGRAMS/$program"
done
python3 packaging/linux/stage.py "$work/target/release" "$work/stage"
configs=(-c packaging/linux.json -c "$work/stage/tauri.json")
if [ -n "${DRAFT:-}" ]; then
  configs+=(-c '{"bundle":{"linux":{"rpm":{"compression":{"type":"gzip","level":1}}}}}')
fi

bundle() {
  CARGO_TARGET_DIR="$work/target" ui/node_modules/.bin/tauri bundle --ci --bundles "$1" "${configs[@]}"
}

# What the bundler's archive lacks: root as the owner, the list of configuration files, and a denser packing.
finish_deb() {
  local deb=$1 tree="$work/deb"
  dpkg-deb -R "$deb" "$tree"
  (cd "$tree" && find etc -type f | sort | sed 's|^|/|') >"$tree/DEBIAN/conffiles"
  (cd "$tree" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
  find "$tree" -type d -exec chmod 755 {} +
  find "$tree" -type f ! -path '*/usr/bin/*' -exec chmod 644 {} +
  local size
  size=$(du -k -s --apparent-size --exclude=DEBIAN "$tree" | cut -f1)
  # The bundler adds two libraries that are already there with their versions.
  sed -i "s/^Installed-Size: .*/Installed-Size: $size/; s/^Maintainer: .*/Maintainer: $DEB_MAINTAINER/
    s/^\(Depends: .*\), libwebkit2gtk-4\.1-0, libgtk-3-0$/\1/" "$tree/DEBIAN/control"
  local packing=(-Zxz)
  if [ -n "${DRAFT:-}" ]; then packing=(-Zgzip -z1); fi
  dpkg-deb --root-owner-group "${packing[@]}" -b "$tree" "$out/" >/dev/null
  rm -r "$tree"
}

rm -f "$out"/*.deb "$out"/*.rpm "$out"/*.AppImage "$out"/*.sig
for kind in "${bundles[@]}"; do
  case "$kind" in
    deb)
      if ! command -v dpkg-shlibdeps >/dev/null; then echo "No .deb: this needs Debian's dpkg-dev." >&2; continue; fi
      bundle deb
      finish_deb "$work"/target/release/bundle/deb/*.deb
      ;;
    rpm)
      bundle rpm
      cp "$work"/target/release/bundle/rpm/*.rpm "$out/"
      ;;
    appimage)
      if packaging/linux/appimage_tools.sh "$work/target/.tauri"; then
        bundle appimage
        cp "$work"/target/release/bundle/appimage/*.AppImage "$out/"
        # What replaces itself is signed under a name that holds its version; the updater looks at both.
        if [ -n "${TAURI_SIGNING_PRIVATE_KEY:-}" ]; then packaging/sign.sh "$out"/*.AppImage; fi
      elif [ -n "${PUBLISH:-}" ]; then
        exit 1
      fi
      ;;
    *) echo "There is no package of kind $kind." >&2; exit 2 ;;
  esac
done
rm -rf "$work"
(cd "$out" && sha256sum -- *.deb *.rpm *.AppImage 2>/dev/null >SHA256SUMS || true; ls -l --block-size=K)
