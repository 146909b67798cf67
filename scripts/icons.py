#!/usr/bin/python3
"""Renders the icons: every picture in icons/ from the SVG sources in icons/src.

Needs python3-gi with GdkPixbuf and librsvg's loader. Run it from anywhere; commit what it changes. `--sheet FILE` also
draws all of them on one page, on a light and on a dark ground, at the sizes of real panels: look at it.

Sources are plain black and red. Black becomes the ink of a set, red the colour of its mark; the state can be told by shape alone.
"""
import pathlib
import struct
import sys

import gi

gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf, Gio  # noqa: E402

ICONS = pathlib.Path(__file__).resolve().parent.parent / "icons"
STATES = ("signed_out", "lowered", "working", "screen_shared", "raised", "attention")
# The tray library takes one picture. 48 is twice 24 and close to twice 22, so panels scale it down cleanly.
TRAY_SIDE = 48

MARKS = {
    "light": {"attention": "#c2410c", "raised": "#be123c", "working": "#15803d", "screen_shared": "#7e22ce"},
    "dark": {"attention": "#ff9f43", "raised": "#ff7a95", "working": "#5fd38d", "screen_shared": "#d0a2ff"},
    "any": {"attention": "#c2410c", "raised": "#be123c", "working": "#15803d", "screen_shared": "#7e22ce"},
}
INK = {"light": "#1f2a36", "dark": "#f4f1ea", "any": "#26323f"}
RIM = "#f4f1ea"
APPLICATION = (16, 22, 24, 32, 48, 64, 128, 256, 512)


def pixels(svg, side):
    stream = Gio.MemoryInputStream.new_from_data(svg.encode())
    picture = GdkPixbuf.Pixbuf.new_from_stream_at_scale(stream, side, side, True, None)
    assert picture.get_has_alpha() and picture.get_width() == picture.get_height() == side, (side, picture.get_width())
    return picture


def rgba(picture):
    row, side = picture.get_rowstride(), picture.get_width()
    data = picture.get_pixels()
    return b"".join(data[line * row : line * row + side * 4] for line in range(side))


def png(picture):
    done, data = picture.save_to_bufferv("png", [], [])
    assert done
    return bytes(data)


def tray(state, panel):
    source = (ICONS / "src" / "tray" / f"{state}.svg").read_text()
    if panel == "any":
        # The ground is not known: a bright rim around dark ink reads on both.
        head, body = source.removesuffix("</svg>\n").split("\n", 1)
        rim = body.replace('"black"', f'"{RIM}"').replace('"red"', f'"{RIM}"').replace('stroke-width="1.6"', 'stroke-width="3.8"')
        source = f'{head}<g stroke="{RIM}" stroke-width="2.2" stroke-linejoin="round">{rim}</g>{body}</svg>'
    return source.replace('"black"', f'"{INK[panel]}"').replace('"red"', f'"{MARKS[panel].get(state, INK[panel])}"')


def application(side):
    # The small drawing leaves out what would be a smear.
    name = "application_small" if side <= 32 else "application"
    return (ICONS / "src" / f"{name}.svg").read_text()


def ico(pictures):
    """Windows icon: a directory of PNG pictures; 256 is written as 0."""
    offset = 6 + 16 * len(pictures)
    head, body = struct.pack("<HHH", 0, 1, len(pictures)), b""
    for side, data in pictures:
        head += struct.pack("<BBBBHHII", side % 256, side % 256, 0, 0, 1, 32, len(data), offset + len(body))
        body += data
    return head + body


def icns(pictures):
    """macOS icon: chunks of PNG pictures, each with the type of its size."""
    kinds = {16: (b"icp4",), 32: (b"icp5", b"ic11"), 64: (b"icp6", b"ic12"), 128: (b"ic07",), 256: (b"ic08", b"ic13"), 512: (b"ic09", b"ic14")}
    body = b"".join(kind + struct.pack(">I", 8 + len(data)) + data for side, data in pictures if side in kinds for kind in kinds[side])
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


def sheet(target):
    """All icons at the sizes of panels, and each pixel shown large."""
    width, row = 1240, 84
    page = GdkPixbuf.Pixbuf.new(GdkPixbuf.Colorspace.RGB, True, 8, width, row * 6 + 300)
    page.fill(0xFFFFFFFF)
    for column, (panel, ground) in enumerate((("light", 0xF3F4F6FF), ("dark", 0x23272EFF), ("any", 0xF3F4F6FF), ("any", 0x23272EFF))):
        left = column * 310
        strip = page.new_subpixbuf(left, 0, 310, row * 6)
        strip.fill(ground)
        for line, state in enumerate(STATES):
            shown = pixels(tray(state, panel), TRAY_SIDE)
            x = left + 6
            for side in (16, 22, 24, 32, 48):
                small = shown.scale_simple(side, side, GdkPixbuf.InterpType.HYPER)
                small.composite(page, x, line * row + 8, side, side, x, line * row + 8, 1, 1, GdkPixbuf.InterpType.NEAREST, 255)
                x += side + 10
            large = shown.scale_simple(24, 24, GdkPixbuf.InterpType.HYPER).scale_simple(72, 72, GdkPixbuf.InterpType.NEAREST)
            large.composite(page, x + 12, line * row + 6, 72, 72, x + 12, line * row + 6, 1, 1, GdkPixbuf.InterpType.NEAREST, 255)
    x = 6
    for side in (16, 24, 32, 48, 64, 128, 256):
        picture = pixels(application(side), side)
        picture.composite(page, x, row * 6 + 20, side, side, x, row * 6 + 20, 1, 1, GdkPixbuf.InterpType.NEAREST, 255)
        x += side + 14
    page.savev(target, "png", [], [])


def main():
    for panel in INK:
        (ICONS / "tray" / panel).mkdir(parents=True, exist_ok=True)
        for state in STATES:
            (ICONS / "tray" / panel / f"{state}.rgba").write_bytes(rgba(pixels(tray(state, panel), TRAY_SIDE)))
    drawn = {side: png(pixels(application(side), side)) for side in APPLICATION}
    for side, data in drawn.items():
        (ICONS / f"{side}x{side}.png").write_bytes(data)
    (ICONS / "128x128@2x.png").write_bytes(drawn[256])
    (ICONS / "icon.png").write_bytes(drawn[512])
    (ICONS / "icon.ico").write_bytes(ico([(side, drawn[side]) for side in (16, 24, 32, 48, 64, 256)]))
    (ICONS / "icon.icns").write_bytes(icns(sorted(drawn.items())))
    if sys.argv[1:2] == ["--sheet"]:
        sheet(sys.argv[2])


main()
