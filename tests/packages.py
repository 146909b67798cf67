#!/usr/bin/env python3
"""The Linux packages, made from the debug build: what validators say, what three shells complete, what the manual shows, and
what becomes of a clean Debian on which the .deb is installed, started, upgraded while it runs, removed and purged.

Needs what scripts/setup.sh installs. DESK_BIN names the folder of the built programs, or PACKAGES that of made packages. The part on a Debian of its own needs
root, or user namespaces with subordinate ids; without them it says so and is left out.
"""
import base64
import gzip
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import packages_root  # noqa: E402

# What matters on a person's computer. `missing-depends-on-sensible-utils` is wrong: the name stands in a list of tries.
LINTIAN = (
    "no-copyright-file", "copyright-without-copyright-notice", "no-changelog", "syntax-error-in-debian-changelog",
    "debian-changelog-line-too-long", "file-in-etc-not-marked-as-conffile", "unregistered-conffile", "no-manual-page",
    "groff-message", "unstripped-binary-or-object", "wrong-file-owner-uid-or-gid", "non-standard-file-perm",
    "non-standard-executable-perm", "executable-not-elf-or-script", "non-standard-dir-perm", "missing-dependency-on-libc",
    "undeclared-elf-prerequisites", "extended-description-is-empty", "extended-description-line-too-long", "synopsis-too-long",
    "malformed-contact", "unknown-section", "bad-package-name", "desktop-command-not-in-package", "md5sum-mismatch",
    "md5sums-lists-nonexistent-file", "file-missing-in-md5sums", "zero-byte-file-in-doc-directory", "maintainer-script-empty",
)
# Beside these only the pages of the manual.
FILES = {
    "/usr/bin/drawbridge", "/usr/bin/drawbridge-desktop", "/usr/lib/systemd/user/drawbridge.service",
    "/usr/share/applications/drawbridge.desktop", "/usr/share/bash-completion/completions/drawbridge",
    "/usr/share/fish/vendor_completions.d/drawbridge.fish", "/usr/share/metainfo/net.drawbridge.desktop.metainfo.xml",
    "/usr/share/icons/hicolor/scalable/apps/drawbridge-desktop.svg",
} | {f"/usr/share/icons/hicolor/{n}x{n}/apps/drawbridge-desktop.png" for n in (16, 22, 24, 32, 48, 64, 128, 256, 512)}
DEB_FILES = FILES | {
    "/etc/xdg/autostart/drawbridge.desktop", "/usr/share/zsh/vendor-completions/_drawbridge",
    "/usr/share/doc/drawbridge/changelog.gz", "/usr/share/doc/drawbridge/copyright", "/usr/share/doc/drawbridge/THIRD-PARTY.gz",
}
RPM_FILES = FILES | {
    "/usr/share/zsh/site-functions/_drawbridge", "/usr/share/doc/drawbridge/CHANGELOG.md",
    "/usr/share/doc/drawbridge/examples/drawbridge.desktop",
} | {f"/usr/share/licenses/drawbridge/{name}" for name in ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.gz")}


def run(*words, **more):
    """Runs a program that must work, and gives what it printed."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def make(out):
    """Both packages: the made ones in the folder that PACKAGES names, else from the debug build as `make package` makes them."""
    made = os.environ.get("PACKAGES")
    if not made:
        environment = os.environ | {"PROGRAMS": os.environ["DESK_BIN"], "OUT": str(out), "DRAFT": "1", "BUNDLES": "deb rpm"}
        run(ROOT / "scripts/package.sh", env=environment)
    place = pathlib.Path(made or out).resolve()
    (deb,), (rpm,) = place.glob("*.deb"), place.glob("*.rpm")
    sums = (place / "SHA256SUMS").read_text()
    assert deb.name in sums and rpm.name in sums, sums
    tree = out / "tree"
    run("dpkg-deb", "-x", deb, tree)
    return deb, rpm, tree


def without_manual(names):
    """The names apart from the manual's pages, of which there must be one for each program and many for commands."""
    pages = {name for name in names if name.startswith("/usr/share/man/man1/")}
    for page in ("drawbridge", "drawbridge-desktop", "drawbridge-start", "drawbridge-undo-restore"):
        assert f"/usr/share/man/man1/{page}.1.gz" in pages, pages
    return set(names) - pages


def one_version():
    """Everything that names the version names the same one."""
    versions = {
        "Cargo.toml": re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1),
        "tauri.conf.json": re.search(r'"version": "(.*)"', (ROOT / "tauri.conf.json").read_text()).group(1),
        "ui/package.json": re.search(r'"version": "(.*)"', (ROOT / "ui/package.json").read_text()).group(1),
    }
    metainfo = (ROOT / "packaging/linux/net.drawbridge.desktop.metainfo.xml").read_text()
    versions["metainfo"] = re.search(r'<release version="([^"]+)"', metainfo).group(1)
    assert len(set(versions.values())) == 1, versions
    return versions["Cargo.toml"]


def contents(deb, rpm, tree, version):
    files = {f"/{file.relative_to(tree)}" for file in tree.rglob("*") if file.is_file()}
    assert without_manual(files) == DEB_FILES, without_manual(files) ^ DEB_FILES
    assert run("dpkg-deb", "-I", deb, "conffiles").split() == ["/etc/xdg/autostart/drawbridge.desktop"]
    fields = run("dpkg-deb", "-f", deb)
    assert f"\nVersion: {version}\n" in fields and "\nArchitecture: " in fields, fields
    needs = re.search(r"^Depends: (.*)$", fields, re.M).group(1).split(", ")
    names = [need.split(" ")[0] for need in needs]
    assert len(set(names)) == len(names), f"twice: {needs}"
    for library in ("libc6", "libwebkit2gtk-4.1-0", "libgtk-3-0", "libsoup-3.0-0"):
        assert any(name.startswith(library) for name in names), f"{library} is not among {needs}"
    assert not any("appindicator" in name for name in names), "the tray needs no library of its own"
    # The command line starts on a server that knows no USB.
    assert not any(name.startswith(("libusb", "libudev")) for name in names), needs
    others = gzip.decompress((tree / "usr/share/doc/drawbridge/THIRD-PARTY.gz").read_bytes()).decode()
    assert "LGPL-2.1-or-later" in others and "GNU LESSER GENERAL PUBLIC LICENSE" in others, "libusb is built in under its licence"
    assert "bubblewrap" in re.search(r"^Recommends: (.*)$", fields, re.M).group(1)
    scripts = {line.split()[-1] for line in run("dpkg-deb", "-I", deb).splitlines() if line.endswith(("inst", "prerm", "postrm"))}
    assert not scripts, f"nothing here needs a script: {scripts}"

    listed = set(run("rpm", "-qlp", "--nosignature", rpm).split())
    assert without_manual(listed) == RPM_FILES, without_manual(listed) ^ RPM_FILES
    needs = set(run("rpm", "-qp", "--nosignature", "--requires", rpm).splitlines())
    for library in ("libwebkit2gtk-4.1.so.0()(64bit)", "libgtk-3.so.0()(64bit)", "libc.so.6()(64bit)"):
        assert library in needs, needs
    assert not any("(none)" in line for line in run("rpm", "-qip", "--nosignature", rpm).splitlines() if "Description" in line)
    assert "bubblewrap" in run("rpm", "-qp", "--nosignature", "--recommends", rpm)
    assert not run("rpm", "-qp", "--nosignature", "--scripts", rpm).strip()


def validators(deb, tree, scratch):
    for entry in ("usr/share/applications/drawbridge.desktop", "etc/xdg/autostart/drawbridge.desktop"):
        told = run("desktop-file-validate", "--no-hints", tree / entry)
        assert not told.strip(), told
    autostart = (tree / "etc/xdg/autostart/drawbridge.desktop").read_text()
    assert "\nHidden=true\n" in autostart, "the package alone starts nothing"
    run("appstreamcli", "validate", "--no-net", tree / "usr/share/metainfo/net.drawbridge.desktop.metainfo.xml")
    # This one also follows the reference to the desktop entry and the icon.
    run("appstreamcli", "validate-tree", "--no-net", tree)

    # The unit as it is, but for the place of the program and of the manual, which are not installed here.
    unit = (tree / "usr/lib/systemd/user/drawbridge.service").read_text()
    copy = scratch / "drawbridge.service"
    copy.write_text(unit.replace("/usr/bin/drawbridge ", f"{tree}/usr/bin/drawbridge "))
    assert copy.read_text() != unit
    runtime = scratch / "runtime"
    runtime.mkdir(mode=0o700)
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "MANPATH": str(tree / "usr/share/man")}
    told = run("systemd-analyze", "--user", "verify", copy, env=environment)
    assert not told.strip(), told

    # All tags, since it ends over the name of one that its version does not know; then those that matter.
    told = run("lintian", "--no-cfg", "--allow-root", "--fail-on", "none", deb)
    assert not [line for line in told.splitlines() if line[:1] in "EW" and line.split()[2] in LINTIAN], told


def manual(tree):
    """Every page is drawn without a complaint, and says what it should."""
    folder = tree / "usr/share/man/man1"
    for page in sorted(folder.iterdir()):
        done = subprocess.run(
            ["man", "--warnings=w", "-E", "UTF-8", "-l", str(page)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
        )
        assert done.returncode == 0 and not done.stderr, f"{page.name}: {done.stderr}"
        assert "NAME" in done.stdout and "SEE ALSO" in done.stdout or page.name == "drawbridge.1.gz", done.stdout
        if page.name == "drawbridge.1.gz":
            assert "EXIT STATUS" in done.stdout and "drawbridge-undo(1)" in done.stdout, done.stdout


def completions(tree, scratch):
    """Three real shells, each loading the file from the place where it looks, complete a word."""
    environment = {"PATH": f"{tree}/usr/bin:{os.environ['PATH']}", "HOME": str(scratch), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    script = tree / "usr/share/bash-completion/completions/drawbridge"
    ask = (
        f"source {script}; how=$(complete -p drawbridge); how=${{how#*-F }}; COMP_WORDS=(drawbridge undo re); COMP_CWORD=2; "
        "COMP_LINE='drawbridge undo re'; COMP_POINT=18; ${how%% *} drawbridge re undo; echo \"${COMPREPLY[@]}\""
    )
    assert run("bash", "--norc", "-c", ask, env=environment).split() == ["restore"]

    fish = run("fish", "-c", "complete -C 'drawbridge undo re'", env=environment | {"XDG_DATA_DIRS": f"{tree}/usr/share"})
    assert [line.split("\t")[0] for line in fish.splitlines()] == ["restore"], fish

    assert zsh(tree / "usr/share/zsh/vendor-completions", environment) == "drawbridge undo restore "


def zsh(folder, environment):
    """What stands on the line of an interactive zsh after `drawbridge undo re` and Tab."""
    setup = (
        f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1=; "
        "show() { print -r -- \"<<$BUFFER>>\" }; zle -N show; bindkey '^X' show; print rea''dy\n"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
    seen = ""
    try:
        os.write(terminal, setup.encode())
        seen = expect(terminal, seen, r"ready")
        os.write(terminal, b"drawbridge undo re\t\x18")
        seen = expect(terminal, seen, r"<<(drawbridge[^<>]*)>>")
        return re.search(r"<<(drawbridge[^<>]*)>>", seen).group(1)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def expect(terminal, seen, pattern, seconds=30):
    end = time.monotonic() + seconds
    while not re.search(pattern, seen):
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        assert ready, f"the shell did not show {pattern}: {seen!r}"
        seen += os.read(terminal, 65536).decode(errors="replace")
    return seen


def release_list(scratch):
    """The list that the updater reads names signed packages alone, and there is none where nothing is signed."""
    folder = scratch / "release"
    folder.mkdir()
    version = one_version()
    image = f"drawbridge_{version}_amd64.AppImage"
    for name in (image, f"Drawbridge_{version}_x64-setup.exe", f"Drawbridge_{version}_x64_en-US.msi", f"drawbridge_{version}_amd64.deb"):
        (folder / name).write_text("")
    words = [sys.executable, ROOT / "packaging/release.py", "updates", folder, f"https://example.test/v{version}/"]
    assert "nothing" in run(*words) and not (folder / "latest.json").exists()
    key = scratch / "key"
    run(ROOT / "ui/node_modules/.bin/tauri", "signer", "generate", "--ci", "-p", "", "-w", key)
    environment = os.environ | {"TAURI_SIGNING_PRIVATE_KEY": key.read_text(), "TAURI_SIGNING_PRIVATE_KEY_PASSWORD": ""}
    run(ROOT / "packaging/sign.sh", folder / image, folder / f"drawbridge_{version}_amd64.deb", env=environment)
    (folder / "Drawbridge.exe").write_text("")
    refused = subprocess.run([ROOT / "packaging/sign.sh", folder / "Drawbridge.exe"], env=environment, stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and "version" in refused.stderr, refused
    run(*words)
    listed = json.loads((folder / "latest.json").read_text())
    signature = (folder / f"{image}.sig").read_text().strip()
    assert f"\tfile:{image}" in base64.b64decode(signature).decode(), "the name is signed along"
    assert listed["platforms"] == {"linux-x86_64": {"signature": signature, "url": f"https://example.test/v{version}/{image}"}}, listed
    assert listed["version"] == version and listed["notes"].strip() and listed["pub_date"].endswith("Z"), listed


def main():
    # Folders of the package are for everybody, whatever this shell's mask says.
    os.umask(0o022)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="drawbridge-packages-"))
    scratch.chmod(0o755)
    try:
        version = one_version()
        deb, rpm, tree = make(scratch)
        for name, part in (
            ("contents", lambda: contents(deb, rpm, tree, version)),
            ("validators", lambda: validators(deb, tree, scratch)),
            ("manual", lambda: manual(tree)),
            ("list of updates", lambda: release_list(scratch)),
            ("completions", lambda: completions(tree, scratch)),
            ("on a clean Debian", lambda: packages_root.run(deb, scratch)),
        ):
            began = time.monotonic()
            part()
            print(f"packages: {name}, {time.monotonic() - began:.0f} s", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
