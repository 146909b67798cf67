#!/usr/bin/env bash
# Checks that the parts for macOS and Windows that see and use the screen and devices still compile, on any system. Needs the standard
# library of both: rustup target add x86_64-pc-windows-gnu aarch64-apple-darwin. Nothing is linked, nothing runs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
crate=$(mktemp -d)
trap 'rm -rf "$crate"' EXIT
mkdir "$crate/src"
for part in seat permissions hardware; do
  ln -s "$root/crates/os/src/$part.rs" "$root/crates/os/src/$part" "$crate/src/"
done
# The rest of the crate holds folders and processes by what only Linux has, so these parts are checked alone.
cat >"$crate/src/lib.rs" <<'RUST'
#![allow(dead_code)]
pub mod hardware;
pub mod permissions;
pub mod seat;
pub mod machine {
    pub fn platform() -> std::io::Result<&'static str> {
        Ok("")
    }
}
pub mod desktop {
    pub enum Display {
        System,
        X11,
        WaylandAndX11,
        Wayland,
        None,
    }
    impl Display {
        pub fn named_by(_: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
            Self::System
        }
    }
}
RUST
python3 - "$root" "$crate" <<'PYTHON'
import pathlib, sys, tomllib
root, crate = map(pathlib.Path, sys.argv[1:])
ours = tomllib.loads((root / "crates/os/Cargo.toml").read_text())
shared = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["dependencies"]
lines = ['[package]', 'name = "native"', 'version = "0.0.0"', 'edition = "2024"', '[workspace]']
def table(name, wanted):
    lines.append(f"[{name}]")
    for crate_name, what in wanted.items():
        if isinstance(what, dict) and what.get("workspace"):
            what = shared[crate_name]
        if isinstance(what, str):
            what = {"version": what}
        what = dict(what)
        if crate_name == "rusb":
            # Its C source needs a compiler for the other system; nothing is linked here.
            what.pop("features", None)
        if "path" in what:
            what["path"] = str(root / what["path"])
        inner = ", ".join(f"{key.replace('_', '-')} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for key, value in what.items())
        lines.append(f"{crate_name} = {{ {inner} }}")
table("dependencies", {name: ours["dependencies"][name] for name in ("drawbridge-core", "libc", "rusb", "rustix", "serialport", "sha2", "thiserror", "tracing")})
for condition, what in ours["target"].items():
    if "linux" not in condition:
        table(f"target.'{condition}'.dependencies", what["dependencies"])
(crate / "Cargo.toml").write_text("\n".join(lines) + "\n")
PYTHON
cp "$root/Cargo.lock" "$crate/"
printf 'Name: libusb\nDescription: stands in\nVersion: 1.0.27\n' >"$crate/libusb-1.0.pc"
export PKG_CONFIG_ALLOW_CROSS=1 PKG_CONFIG_PATH="$crate"
for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
  (cd "$crate" && cargo clippy --quiet --target "$target" -- -D warnings)
  echo "$target: compiles"
done
