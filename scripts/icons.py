#!/usr/bin/python3
"""Draws the icons: writes the SVG sources in icons/src and every picture made from them.

Needs python3-gi with GdkPixbuf and librsvg's loader. Run it from anywhere; commit what it changes.
"""
import pathlib

import gi

gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf  # noqa: E402

ICONS = pathlib.Path(__file__).resolve().parent.parent / "icons"

# A gatehouse with a chained bridge before it. Down: it spans the water. Up: it closes the gate.
TOWER = '<path d="M6 26V7h3v2.5h2.5V7h3v2.5H17V26h-3.6v-6a2.4 2.4 0 0 0-4.8 0v6z" fill="{ink}"/>'
DOWN = (
    '<path d="M17 24.2h12" stroke="{deck}" stroke-width="3" stroke-linecap="round"/>'
    '<path d="M16.5 12.5 27 22.6" stroke="{ink}" stroke-width="1.5" stroke-dasharray="2 1.3"/>'
)
UP = '<path d="M20.6 25V8.4" stroke="{deck}" stroke-width="3.4" stroke-linecap="round"/>'
WATER = '<path d="M3 29.3q2.2-1.6 4.3 0t4.3 0 4.3 0 4.3 0 4.3 0 4.5 0" fill="none" stroke="{water}" stroke-width="1.7" stroke-linecap="round"/>'
BADGE = {
    "lowered": "",
    "raised": "",
    "signed_out": '<circle cx="25" cy="8" r="4" fill="none" stroke="{ink}" stroke-width="1.8"/>',
    "working": '<circle cx="25" cy="8" r="5" fill="#2f9e6e"/><path d="m22.8 8 1.7 1.8 3-3.5" stroke="#fff" stroke-width="1.5" fill="none"/>',
    "attention": '<circle cx="25" cy="8" r="6" fill="#e8590c"/><path d="M25 4.8v3.8M25 10.6v.9" stroke="#fff" stroke-width="1.9" stroke-linecap="round"/>',
}


def svg(body, ground=""):
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none">{ground}{body}</svg>\n'


def tray(state):
    deck = "#d6336c" if state == "raised" else ("#868e96" if state == "signed_out" else "#3b82c4")
    ink = "#868e96" if state == "signed_out" else "#5c6b7a"
    body = TOWER + (UP if state == "raised" else DOWN) + WATER
    return svg(body.format(ink=ink, deck=deck, water="#6aa5d8") + BADGE[state].format(ink=ink))


def application():
    ground = (
        '<defs><linearGradient id="g" x2="0" y2="1"><stop stop-color="#24476b"/><stop offset="1" stop-color="#122438"/>'
        '</linearGradient></defs><rect width="32" height="32" rx="7" fill="url(#g)"/>'
    )
    body = (TOWER + DOWN + WATER).format(ink="#f3ead9", deck="#e0a24a", water="#6fb1e6")
    return svg(f'<g transform="translate(3.2 1.6) scale(.8)">{body}</g>', ground)


def draw(source, side):
    return GdkPixbuf.Pixbuf.new_from_file_at_size(str(source), side, side)


def main():
    (ICONS / "src").mkdir(parents=True, exist_ok=True)
    (ICONS / "tray").mkdir(exist_ok=True)
    app = ICONS / "src" / "application.svg"
    app.write_text(application())
    for name, side in (("32x32", 32), ("128x128", 128), ("128x128@2x", 256), ("icon", 512)):
        draw(app, side).savev(str(ICONS / f"{name}.png"), "png", [], [])
    for state in BADGE:
        source = ICONS / "src" / f"tray_{state}.svg"
        source.write_text(tray(state))
        picture = draw(source, 32)
        assert picture.get_has_alpha() and picture.get_rowstride() == 128
        (ICONS / "tray" / f"{state}.rgba").write_bytes(picture.get_pixels()[: 32 * 32 * 4])
        draw(source, 64).savev(str(ICONS / "tray" / f"{state}.png"), "png", [], [])


main()
