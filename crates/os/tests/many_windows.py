"""Opens as many small windows as its argument says, with a number as title each, and tells when all of them are shown."""
import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

left = int(sys.argv[1])


def shown(*_):
    global left
    left -= 1
    if left == 0:
        print("shown", flush=True)
    return False


for number in range(left):
    window = Gtk.Window(title=f"{number}")
    window.set_default_size(30, 20)
    window.connect("map-event", shown)
    window.show()
# Ends with whoever started it.
GLib.io_add_watch(sys.stdin, GLib.IO_HUP, Gtk.main_quit)
Gtk.main()
