#!/usr/bin/env python3
"""Lays out what the Linux packages hold beside the window's program, and tells the bundler about it.

    stage.py PROGRAMS OUT

PROGRAMS has the built `drawbridge` and `drawbridge-desktop`. OUT gets one tree for each kind of package (`deb`, `rpm`,
`appimage`) and `tauri.json`, which is merged over tauri.conf.json: the files, and what both programs need of the system as
they were really linked. Compiles nothing. Debian's tools tell Debian's names; without them there is no .deb.
"""
import datetime
import email.utils
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NAMES = ("drawbridge-desktop", "drawbridge")
MAINTAINER = os.environ["DEB_MAINTAINER"]
# Not linked, but missed: the wall around commands, the keychain, and what opens a browser.
RECOMMENDS = {
    "deb": ["bubblewrap", "gnome-keyring | kwalletmanager | keepassxc", "xdg-utils", "default-dbus-session-bus | dbus-session-bus"],
    "rpm": ["bubblewrap", "gnome-keyring", "xdg-utils"],
}


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def put(tree, place, content, mode=0o644):
    """Writes a file, given as text, bytes or the path of another."""
    target = tree / place
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pathlib.Path):
        shutil.copyfile(content, target)
    else:
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    target.chmod(mode)


def packed(text):
    """The same bytes for the same text, whenever it is packed."""
    return gzip.compress(text.encode() if isinstance(text, str) else text, 9, mtime=0)


def common(tree, program):
    """What every kind of package has, in the places that all distributions share."""
    put(tree, "usr/bin/drawbridge", program, 0o755)
    put(tree, "usr/lib/systemd/user/drawbridge.service", HERE / "drawbridge.service")
    put(tree, "usr/share/metainfo/net.drawbridge.desktop.metainfo.xml", HERE / "net.drawbridge.desktop.metainfo.xml")
    put(tree, "usr/share/icons/hicolor/scalable/apps/drawbridge-desktop.svg", ROOT / "icons/src/application.svg")
    put(tree, "usr/share/bash-completion/completions/drawbridge", run(program, "completions", "bash"))
    put(tree, "usr/share/fish/vendor_completions.d/drawbridge.fish", run(program, "completions", "fish"))
    put(tree, "usr/share/man/man1/drawbridge-desktop.1.gz", packed((HERE / "drawbridge-desktop.1").read_text()))
    with tempfile.TemporaryDirectory() as pages:
        run(program, "man", "--out", pages)
        for page in sorted(pathlib.Path(pages).iterdir()):
            put(tree, f"usr/share/man/man1/{page.name}.gz", packed(page.read_text()))


def debian_changelog():
    """The newest section of CHANGELOG.md, in the form that Debian's tools read, dated as the newest release in the metainfo."""
    about = json.loads((ROOT / "tauri.conf.json").read_text())
    newest = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    changes = "".join(
        textwrap.fill(line[2:], 76, initial_indent="  * ", subsequent_indent="    ") + "\n"
        for line in newest.splitlines() if line.startswith("- ")
    )
    day = re.search(r'date="([-0-9]+)"', (HERE / "net.drawbridge.desktop.metainfo.xml").read_text()).group(1)
    when = email.utils.format_datetime(datetime.datetime.fromisoformat(f"{day}T12:00:00+00:00"))
    return f"drawbridge ({about['version']}) stable; urgency=medium\n\n{changes}\n -- {MAINTAINER}  {when}\n"


def deb(tree, program, others):
    put(tree, "usr/share/zsh/vendor-completions/_drawbridge", run(program, "completions", "zsh"))
    put(tree, "etc/xdg/autostart/drawbridge.desktop", HERE / "autostart.desktop")
    mit = "".join(f" {line or '.'}\n" for line in (ROOT / "LICENSE-MIT").read_text().splitlines())
    put(tree, "usr/share/doc/drawbridge/copyright", (HERE / "copyright").read_text() + mit)
    put(tree, "usr/share/doc/drawbridge/changelog.gz", packed(debian_changelog()))
    put(tree, "usr/share/doc/drawbridge/THIRD-PARTY.gz", packed(others))


def rpm(tree, program, others):
    put(tree, "usr/share/zsh/site-functions/_drawbridge", run(program, "completions", "zsh"))
    # The bundler cannot mark a file as configuration, and an update would overwrite what an administrator wrote there.
    put(tree, "usr/share/doc/drawbridge/examples/drawbridge.desktop", HERE / "autostart.desktop")
    put(tree, "usr/share/doc/drawbridge/CHANGELOG.md", ROOT / "CHANGELOG.md")
    for name in ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT"):
        put(tree, f"usr/share/licenses/drawbridge/{name}", ROOT / name)
    put(tree, "usr/share/licenses/drawbridge/THIRD-PARTY.gz", packed(others))


def appimage(tree, program, others):
    put(tree, "usr/share/zsh/site-functions/_drawbridge", run(program, "completions", "zsh"))
    for name in ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT"):
        put(tree, f"usr/share/doc/drawbridge/{name}", ROOT / name)
    put(tree, "usr/share/doc/drawbridge/THIRD-PARTY.gz", packed(others))


def debian_needs(programs):
    """Debian's packages, with versions, of all libraries that the programs link."""
    if not shutil.which("dpkg-shlibdeps"):
        return []
    with tempfile.TemporaryDirectory() as folder:
        control = pathlib.Path(folder) / "debian/control"
        control.parent.mkdir()
        control.write_text("Source: drawbridge\n\nPackage: drawbridge\nArchitecture: any\n")
        told = run("dpkg-shlibdeps", "-O", *(f"-e{program}" for program in programs), cwd=folder, stderr=subprocess.DEVNULL)
    return re.search(r"^shlibs:Depends=(.*)$", told, re.M).group(1).split(", ")


def rpm_needs(programs):
    """The libraries by their own names, which Fedora and openSUSE both resolve, though they name packages differently."""
    needs = set()
    for program in programs:
        # So that every program is one of ours, and not a script, and what it needs is really there to be read.
        told = run("objdump", "-p", program)
        libraries = re.findall(r"^\s+NEEDED\s+(\S+)$", told, re.M)
        assert "libc.so.6" in libraries, f"{program} is no program"
        needs.update(f"{name}()(64bit)" for name in libraries if not name.startswith("ld-linux"))
        versions = re.findall(r"\sGLIBC_(\d+)\.(\d+)$", told, re.M)
        newest = max((int(major), int(minor)) for major, minor in versions)
        needs.add("libc.so.6(GLIBC_{}.{})(64bit)".format(*newest))
    return sorted(needs)


def mapping(tree):
    """Each file of a tree, by its place in the package."""
    return {f"/{file.relative_to(tree)}": str(file) for file in sorted(tree.rglob("*")) if file.is_file()}


def main():
    programs, out = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    both = [programs / name for name in NAMES]
    others = run(sys.executable, HERE.parent / "third_party.py")
    trees = {}
    for name, lay in (("deb", deb), ("rpm", rpm), ("appimage", appimage)):
        trees[name] = out / name
        shutil.rmtree(trees[name], ignore_errors=True)
        common(trees[name], both[1])
        lay(trees[name], both[1], others)
    linux = {name: {"files": mapping(tree)} for name, tree in trees.items()}
    for name, needs in (("deb", debian_needs), ("rpm", rpm_needs)):
        linux[name] |= {"depends": needs(both), "recommends": RECOMMENDS[name]}
    (out / "tauri.json").write_text(json.dumps({"bundle": {"linux": linux}}, indent=2) + "\n")


main()
