"""A window that records what it receives, one JSON object a line.

    recorder.py [--title T] [--class C] [--at X,Y] [--size W,H] [--field] [--plain] [--quiet]

--field: with a text field that has the keyboard. --plain: without a frame, exactly where --at says. --quiet: tells no keys.
Events: {"event": "ready", "xid"}, then "key" and "key_up" (name, state), "button" and "button_up" (number, x, y, state), "clicks"
(count, number; after the press that makes it a double or triple click), "motion" (x, y), "scroll" (direction, state), "focus" (has).
Points are those of the whole screen; state is the raw number of the modifiers.
Requests on standard input, each answered by {"event": "answer", "to": request}: "text" (what the field holds), "clear", "mark"
(after everything that has arrived by then), "select" (selects all), "title T", "minimize", "menu" (opens a menu and leaves
it open), "quit".
"""
import argparse
import json
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
gi.require_version("GdkX11", "3.0")
from gi.repository import Gdk, GdkX11, GLib  # noqa: E402,F401


def say(**event):
    print(json.dumps(event), flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--title", default="recorder")
parser.add_argument("--class", dest="kind", default="Recorder")
parser.add_argument("--at", default="0,0")
parser.add_argument("--size", default="400,300")
parser.add_argument("--field", action="store_true")
parser.add_argument("--plain", action="store_true")
parser.add_argument("--quiet", action="store_true")
chosen = parser.parse_args()

# Gtk opens the display when it is loaded, with the class of that moment.
GLib.set_prgname(chosen.kind.lower())
Gdk.set_program_class(chosen.kind)
from gi.repository import Gtk  # noqa: E402

x, y = map(int, chosen.at.split(","))
width, height = map(int, chosen.size.split(","))
window = Gtk.Window(title=chosen.title)
window.set_default_size(width, height)
window.set_decorated(not chosen.plain)
window.move(x, y)
field = Gtk.TextView() if chosen.field else None
area = field or Gtk.DrawingArea()
area.set_can_focus(True)
window.add(area)
masks = Gdk.EventMask
for widget in (window, area):
    widget.add_events(
        masks.KEY_PRESS_MASK | masks.KEY_RELEASE_MASK | masks.BUTTON_PRESS_MASK | masks.BUTTON_RELEASE_MASK
        | masks.POINTER_MOTION_MASK | masks.SCROLL_MASK
    )


def key(name):
    def told(_, event):
        if chosen.quiet:
            return False
        say(event=name, name=Gdk.keyval_name(event.keyval), state=int(event.state))
        return False
    return told


def button(name):
    def told(_, event):
        # A double click is told as two presses and then once more as what it is.
        counts = {Gdk.EventType.DOUBLE_BUTTON_PRESS: 2, Gdk.EventType.TRIPLE_BUTTON_PRESS: 3}
        if event.type in counts:
            say(event="clicks", count=counts[event.type], number=event.button)
        elif event.type in (Gdk.EventType.BUTTON_PRESS, Gdk.EventType.BUTTON_RELEASE):
            say(event=name, number=event.button, x=int(event.x_root), y=int(event.y_root), state=int(event.state))
        return False
    return told


def motion(_, event):
    say(event="motion", x=int(event.x_root), y=int(event.y_root))
    return False


def scroll(_, event):
    say(event="scroll", direction=event.direction.value_nick, state=int(event.state))
    return False


def focus(has):
    def told(*_):
        say(event="focus", has=has)
        if has and not state["ready"]:
            state["ready"] = True
            say(event="ready", xid=window.get_window().get_xid())
        return False
    return told


state = {"ready": False}
window.connect("key-press-event", key("key"))
window.connect("key-release-event", key("key_up"))
area.connect("button-press-event", button("button"))
area.connect("button-release-event", button("button_up"))
area.connect("motion-notify-event", motion)
area.connect("scroll-event", scroll)
window.connect("focus-in-event", focus(True))
window.connect("focus-out-event", focus(False))
window.connect("destroy", Gtk.main_quit)


def request(source, _):
    line = sys.stdin.readline()
    if not line:
        Gtk.main_quit()
        return False
    word, _, rest = line.strip().partition(" ")
    answer = {}
    # The server answers in order: what it was told before has arrived then.
    Gdk.Display.get_default().sync()
    while Gtk.events_pending():
        Gtk.main_iteration()
    if word == "text" and field:
        buffer = field.get_buffer()
        answer["text"] = buffer.get_text(buffer.get_start_iter(), buffer.get_end_iter(), True)
    elif word == "clear" and field:
        field.get_buffer().set_text("")
    elif word == "select" and field:
        buffer = field.get_buffer()
        buffer.select_range(buffer.get_start_iter(), buffer.get_end_iter())
    elif word == "title":
        window.set_title(rest)
    elif word == "minimize":
        window.iconify()
    elif word == "menu":
        menu = Gtk.Menu()
        for label in ("One", "Two", "Three"):
            menu.append(Gtk.MenuItem(label=label))
        menu.show_all()
        menu.attach_to_widget(window)
        menu.popup_at_widget(window, Gdk.Gravity.CENTER, Gdk.Gravity.NORTH_WEST, None)
    say(event="answer", to=word, **answer)
    if word == "quit":
        Gtk.main_quit()
    return True


GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, request)
window.show_all()
area.grab_focus()
Gtk.main()
