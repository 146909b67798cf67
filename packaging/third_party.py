#!/usr/bin/env python3
"""Prints the licences of everything that is linked into the programs or embedded in the window's page.

Reads what cargo and npm fetched for the build. Each text stands once, with the names of all that use it.
"""
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTS = re.compile(r"^(licen[cs]e|copying|notice|unlicense)", re.I)
# What vite puts into the page. Everything else in ui/node_modules only builds it.
PAGE = ("svelte", "@tauri-apps/api")
# Crates that hold the source of another work and build it in: its name, its licence, its folder there.
WITHIN = {"libusb1-sys": ("libusb, built in from the source within libusb1-sys", "LGPL-2.1-or-later", "libusb")}


def linked():
    """The packages of others that both programs link, by walking the graph from ours."""
    version = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
    here = re.search("^host: (.*)$", version, re.M).group(1)
    told = subprocess.run(
        ["cargo", "metadata", "--locked", "--filter-platform", here, "--format-version", "1"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    graph = json.loads(told)
    packages = {package["id"]: package for package in graph["packages"]}
    needs = {node["id"]: node["deps"] for node in graph["resolve"]["nodes"]}
    seen, left = set(), [p["id"] for p in graph["packages"] if p["name"] in ("drawbridge-desktop", "drawbridge-cli")]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        left += [need["pkg"] for need in needs[one] if any(kind["kind"] is None for kind in need["dep_kinds"])]
    return [packages[one] for one in seen if packages[one]["source"]]


def texts(folder):
    """The licence texts in this folder."""
    return [f.read_text(errors="replace").strip() for f in sorted(folder.iterdir()) if f.is_file() and TEXTS.match(f.name)]


def main():
    rows, users = [], {}
    found = [(p["name"], p["version"], p["license"], pathlib.Path(p["manifest_path"]).parent) for p in linked()]
    for name in PAGE:
        folder = ROOT / "ui/node_modules" / name
        about = json.loads((folder / "package.json").read_text())
        found.append((name, about["version"], about["license"], folder))
    for name, version, licence, folder in sorted(found, key=lambda one: one[:2]):
        rows.append(f"{name} {version}: {licence or 'see its text'}")
        for text in texts(folder):
            users.setdefault(text, []).append(f"{name} {version}")
        if name in WITHIN:
            work, terms, place = WITHIN[name]
            rows.append(f"{work} {version}: {terms}")
            its_texts = texts(folder / place)
            assert its_texts, f"{work} has no licence text"
            for text in its_texts:
                users.setdefault(text, []).append(work)
    print("Drawbridge holds these works of others, under these licences:\n")
    print("\n".join(rows))
    for text, names in sorted(users.items(), key=lambda one: one[1]):
        print(f"\n{'=' * 78}\n{', '.join(names)}\n{'-' * 78}\n{text}")


main()
