#!/usr/bin/env bash
# Signs packages for the updater: sign.sh FILE... writes FILE.sig. TAURI_SIGNING_PRIVATE_KEY holds the key, and
# TAURI_SIGNING_PRIVATE_KEY_PASSWORD its password. The updater wants the version in the name that is signed along.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=$(python3 "$here/release.py" version)
for file in "$@"; do
  case "$(basename "$file")" in
    *_"${version}"_*) ;;
    *) echo "The name of $file does not hold the version $version." >&2; exit 1 ;;
  esac
  "$here/../ui/node_modules/.bin/tauri" signer sign --password "${TAURI_SIGNING_PRIVATE_KEY_PASSWORD:-}" --app-version "$version" "$file" >/dev/null
  echo "signed $(basename "$file")"
done
