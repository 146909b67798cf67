#!/usr/bin/env python3
"""For the release workflow: what a release says, and the list that the updater reads.

    release.py version                  prints the version of the program
    release.py notes                    prints the newest section of CHANGELOG.md
    release.py source KEY ADDRESS       builds in where newer versions come from: the public key (it may be empty: then versions
                                        are only told of) and the address of the repository
    release.py updates FOLDER ADDRESS   writes FOLDER/latest.json for the signed packages there, which will lie at ADDRESS

Packages without a signature beside them are not offered as updates; with none at all no list is written.
"""
import datetime
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What updates itself, by the updater's name for its system. A .deb and an .rpm are updated by the system that installed them.
KINDS = (
    (re.compile(r"_amd64\.AppImage$"), "linux-x86_64"),
    (re.compile(r"_aarch64\.app\.tar\.gz$"), "darwin-aarch64"),
    (re.compile(r"_x64\.app\.tar\.gz$"), "darwin-x86_64"),
    (re.compile(r"_x64-setup\.exe$"), "windows-x86_64"),
)


def version():
    return json.loads((ROOT / "tauri.conf.json").read_text())["version"]


def source(key, address):
    """Finished versions are listed by the newest release; those that are tried out by the release `beta`, which moves."""
    lists = {"stable": f"{address}/releases/latest/download/latest.json", "beta": f"{address}/releases/download/beta/latest.json"}
    built_in = {"key": key.strip(), "lists": lists, "page": f"{address}/releases"}
    (ROOT / "crates/engine/src/updates/source.json").write_text(json.dumps(built_in, indent=2) + "\n")


def notes():
    newest = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    return newest.split("\n", 1)[1].strip()


def updates(folder, address, now):
    platforms = {}
    for signature in sorted(folder.glob("*.sig")):
        package = signature.with_suffix("")
        for pattern, name in KINDS:
            if pattern.search(package.name):
                platforms[name] = {"signature": signature.read_text().strip(), "url": f"{address}/{package.name}"}
    if platforms:
        when = now.isoformat(timespec="seconds").replace("+00:00", "Z")
        listed = {"version": version(), "notes": notes(), "pub_date": when, "platforms": platforms}
        (folder / "latest.json").write_text(json.dumps(listed, indent=2) + "\n")
    print(f"updates are offered for: {', '.join(platforms) or 'nothing, since nothing is signed'}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["version"]:
            print(version())
        case ["source", key, address]:
            source(key, address.rstrip("/"))
        case ["notes"]:
            print(notes())
        case ["updates", folder, address]:
            updates(pathlib.Path(folder), address.rstrip("/"), datetime.datetime.now(datetime.timezone.utc))
        case _:
            sys.exit(__doc__)
