#!/usr/bin/python3
"""A day of somebody who never opens the window: everything from the tray's menu, over D-Bus as a panel does it.

The real program with its real engine against `drawbridge practice`. A tray host that vanishes and comes back, notifications
on a real bus, one that never answers, and the key that raises. Run it under scripts/desk.sh; DESK_BIN is the folder of the
built programs.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import dbus

from desktop_window import PICTURES, Platform, until

ROOT = pathlib.Path(__file__).resolve().parent.parent
WATCHER = "org.kde.StatusNotifierWatcher"
NOTIFIER = "org.freedesktop.Notifications"
PROPERTIES = "org.freedesktop.DBus.Properties"


class Tray:
    """The tray icon as a panel sees it, whichever host it is registered with now."""

    def __init__(self, bus):
        self.bus = bus
        self.name, _, path = until("a tray icon", self.items)[0].partition("/")
        self.item = bus.get_object(self.name, "/" + path)
        menu = self.item.Get("org.kde.StatusNotifierItem", "Menu", dbus_interface=PROPERTIES)
        self.menu = dbus.Interface(bus.get_object(self.name, menu), "com.canonical.dbusmenu")

    def items(self):
        try:
            watcher = self.bus.get_object(WATCHER, "/StatusNotifierWatcher", introspect=False)
            return watcher.Get(WATCHER, "RegisteredStatusNotifierItems", dbus_interface=PROPERTIES)
        except dbus.DBusException:
            return None

    def tree(self):
        _, root = self.menu.GetLayout(0, -1, dbus.Array([], signature="s"))
        return root

    def labels(self, node=None):
        return [str(line[1].get("label", "")).replace("__", "_") for line in (node or self.tree())[2]]

    def line(self, *path):
        """The line whose label, and those of the lines above it, begin like this; none if there is none."""
        node = self.tree()
        for start in path:
            fitting = [line for line in node[2] if str(line[1].get("label", "")).replace("__", "_").startswith(start)]
            if not fitting:
                return None
            node = fitting[0]
        return node

    def click(self, *path):
        def clicked():
            line = self.line(*path)
            if line is None or not bool(line[1].get("enabled", True)):
                return False
            try:
                self.menu.Event(line[0], "clicked", dbus.String("", variant_level=1), dbus.UInt32(int(time.time())))
                return True
            except dbus.DBusException as fault:
                # The menu has just changed, and the old line does nothing: as it should.
                assert "id not found" in str(fault), fault
                return False

        until(f"the line {path} can be clicked", clicked)

    def sees(self, *path):
        return until(f"the line {path}", lambda: self.line(*path))

    def checked(self, *path):
        line = self.line(*path)
        return line is not None and int(line[1].get("toggle-state", -1)) == 1

    def pixels(self):
        icons = self.item.Get("org.kde.StatusNotifierItem", "IconPixmap", dbus_interface=PROPERTIES)
        return [(int(width), int(height), bytes(data)) for width, height, data in icons]


class Notifier:
    """Takes the place of the desktop's notification service."""

    def __init__(self, bus, *arguments):
        self.bus, self.file = bus, tempfile.NamedTemporaryFile()
        end_owner(bus, NOTIFIER)
        program = ["/usr/bin/python3", str(ROOT / "tests" / "desktop_notifier.py"), self.file.name, *arguments]
        self.process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "ready"

    def calls(self):
        return [json.loads(line) for line in pathlib.Path(self.file.name).read_text().splitlines()]

    def shown(self, heading):
        return [call for call in self.calls() if call["call"] == "Notify" and call["heading"] == heading]

    def closed(self, number):
        return any(call["call"] == "Close" and call["id"] == number for call in self.calls())

    def click(self, number):
        service = self.bus.get_object(NOTIFIER, "/org/freedesktop/Notifications", introspect=False)
        service.Click(dbus.UInt32(number), dbus_interface="net.drawbridge.Test")


def end_owner(bus, name):
    if bus.name_has_owner(name):
        daemon = bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus")
        owner = daemon.GetConnectionUnixProcessID(name, dbus_interface="org.freedesktop.DBus")
        os.kill(int(owner), signal.SIGKILL)
        until(f"{name} is free", lambda: not bus.name_has_owner(name))


def start_host():
    host = subprocess.Popen(["/usr/bin/python3", str(ROOT / "scripts" / "watcher.py")], stdout=subprocess.PIPE, text=True)
    assert host.stdout.readline().strip() == "ready"
    return host


def windows(program, name=""):
    found = subprocess.run(
        ["xdotool", "search", "--all", "--onlyvisible", "--pid", str(program.pid), "--name", name], capture_output=True, text=True
    )
    return found.stdout.split()


def close_window(number):
    subprocess.run(["wmctrl", "-i", "-c", hex(int(number))], check=True)


def recorder(folder, name, target):
    """A program of that name that writes down what it is given."""
    script = folder / name
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> "{target}"\n')
    script.chmod(0o755)
    return str(script)


def main():
    programs = pathlib.Path(os.environ["DESK_BIN"])
    home = pathlib.Path(os.environ["HOME"])
    folder = home / "Quarterly_report & more"
    folder.mkdir()
    opened, stand_ins = home / "opened.txt", home / "bin"
    stand_ins.mkdir()
    recorder(stand_ins, "xdg-open", opened)
    bus = dbus.SessionBus()
    log = home / "desktop.log"
    PICTURES.mkdir(exist_ok=True)
    with Platform(programs / "drawbridge") as platform, log.open("w") as output:
        environment = os.environ | {
            "PATH": f"{stand_ins}:{os.environ['PATH']}",
            "BROWSER": str(stand_ins / "xdg-open"),
            "DRAWBRIDGE_PLATFORM_URL": platform.address,
            "DRAWBRIDGE_STATE_DIR": str(home / "state"),
            "LANG": "en_GB.UTF-8",
        }
        notifier = Notifier(bus)
        program = subprocess.Popen([programs / "drawbridge-desktop", "--hidden"], env=environment, stderr=output)
        try:
            story(bus, program, platform, notifier, folder, opened, log, environment)
        except BaseException:
            print(log.read_text(), file=sys.stderr)
            raise
        finally:
            if program.poll() is None:
                program.kill()
    print("tray, notifications and hot key: all seen")


def story(bus, program, platform, notifier, folder, opened, log, environment):
    tray = Tray(bus)
    signs_in(tray, platform, opened)
    assert windows(program, "Drawbridge") == [], "a hidden start shows no window"
    machine = platform.machine()

    denies(tray, platform, notifier, machine)
    chat = attaches(tray, platform, machine, folder, opened)
    shows(tray, platform, notifier, program, chat, machine)
    stops(tray, platform, notifier, chat)
    loses_the_host(bus, program, tray, environment)
    tray = Tray(bus)
    opens(tray, program)
    nobody_answers(bus, tray, platform, log)

    tray.click("Quit")
    assert program.wait(timeout=30) == 0
    until("the icon is gone", lambda: not bus.name_has_owner(tray.name))


def signs_in(tray, platform, opened):
    tray.sees("Signed out")
    signed_out = tray.pixels()
    assert signed_out and all(len(data) == width * height * 4 for width, height, data in signed_out)
    platform.call("consent", mode="allow")
    tray.click("Sign in")
    until("the sign-in page is opened", lambda: opened.exists() and opened.read_text().strip())
    with urllib.request.urlopen(opened.read_text().split()[0], timeout=20) as page:
        page.read()
    opened.unlink()
    tray.sees("Connected and idle")
    assert tray.pixels() != signed_out, "the icon shows the state"


def asks_for_a_folder(platform, machine):
    """Lets the platform ask for the home folder; what comes back tells how that ended."""
    page = platform.call("browse", machine_id=machine)
    chat = platform.call("chat")["session_id"]
    place = {"browse_id": page["browse_id"], "directory_ref": page["entries"][0]["directory_ref"]}
    return platform.later("attach", machine_id=machine, session_id=chat, **place)


def denies(tray, platform, notifier, machine):
    calm = tray.pixels()
    asked = asks_for_a_folder(platform, machine)
    question = until("a question", lambda: tray.line("Question: ") or (asked.done() and sys.exit(f"no question: {asked}, {asked.exception() or asked.result()}")))
    assert tray.labels(question) == ["Show the question", "Deny"], tray.labels(question)
    until("the icon calls", lambda: tray.pixels() != calm)
    told = until("a notification", lambda: notifier.shown("An agent asks"))[0]
    assert told["body"] == "Nothing happens until you answer." and told["actions"] == ["default", "Show"], told
    tray.click("Question: ", "Deny")
    refused = asked.exception(timeout=60)
    assert refused is not None, "the platform got the folders"
    until("the notification is taken away", lambda: notifier.closed(told["id"]))
    tray.sees("Connected and idle")


def attaches(tray, platform, machine, folder, opened):
    tray.click("Powers", "Attach folders", "Allowed")
    # A check mark follows the click at once; the line above it says what the engine did.
    tray.sees("Powers", "Attach folders: Allowed")
    until("the check mark", lambda: tray.checked("Powers", "Attach folders", "Allowed"))
    chat = platform.call("chat", session_id="quarterly-report")["session_id"]
    platform.call("attach", machine_id=machine, session_id=chat, **place_of(platform, machine, folder))
    platform.call("activate", session_id=chat)
    # An underscore and an ampersand are letters of the name.
    tray.sees("Chats (1)", str(folder))
    tray.click("Chats (1)", str(folder), "Open the folder")
    until("the folder is opened", lambda: opened.exists() and opened.read_text().strip() == str(folder))
    platform.operate(chat, "FILE_WRITE", path="summary.md", content="1200 sold\n", encoding="utf-8")
    tray.sees("Last: FILE_WRITE summary.md")
    return chat


def place_of(platform, machine, folder):
    page = platform.call("browse", machine_id=machine)
    for _ in range(8):
        found = next((entry for entry in page["entries"] if entry["name"] == folder.name), None)
        found = found or next(entry for entry in page["entries"] if "ome" in entry["name"])
        place = {"browse_id": page["browse_id"], "directory_ref": found["directory_ref"]}
        if found["name"] == folder.name:
            return place
        page = platform.call("browse", machine_id=machine, **place)
    raise RuntimeError(f"{folder} was not offered")


def shows(tray, platform, notifier, program, chat, machine):
    tray.click("Powers", "Commands", "Ask each time")
    tray.sees("Powers", "Commands: Ask each time")
    platform.offers(machine, "shell")
    assert tray.sees("Powers", "Commands", "Commands are confined")
    run = lambda: platform.later("operate", session_id=chat, type="EXECUTE_COMMAND", payload={"argv": ["sleep", "600"]}, limit_ms=600000)
    before = len(notifier.shown("An agent asks"))
    asked = run()
    number = until("the window for questions", lambda: windows(program, "asks"))[0]
    close_window(number)
    assert asked.exception(timeout=60) is not None, "closing the question denies it"
    # The menu follows a moment later; its lines are bound to the question that they showed.
    until("the question has left the menu", lambda: not tray.line("Question: "))

    asked = run()
    tray.click("Question: ", "Show the question")
    until("the window for questions", lambda: windows(program, "asks"))
    told = until("its notification", lambda: notifier.shown("An agent asks")[before + 1 :])[0]
    assert told["body"] == "Nothing happens until you answer.", told
    notifier.click(told["id"])
    tray.click("Question: ", "Deny")
    assert asked.exception(timeout=60) is not None
    until("the window for questions is gone", lambda: not windows(program, "asks"))


def stops(tray, platform, notifier, chat):
    tray.click("Powers", "Commands", "Allowed")
    tray.sees("Powers", "Commands: Allowed")
    running = platform.later("operate", session_id=chat, type="EXECUTE_COMMAND", payload={"argv": ["sleep", "600"]}, limit_ms=600000)
    ends = "Quit (ends 1 chat and 1 running command)"
    until(ends, lambda: tray.line(ends) or (running.done() and sys.exit(f"the command did not go on: {running.exception()}")))
    tray.sees("Raise the bridge (stop everything, Ctrl+Alt+Shift+R)")
    subprocess.run(["xdotool", "key", "ctrl+alt+shift+r"], check=True)
    tray.sees("Raised: nothing can act")
    assert running.exception(timeout=60) is not None, "the command went on"
    told = until("a key pressed by accident is told", lambda: notifier.shown("The bridge is raised"))[0]
    assert told["body"].startswith("You raised it with the hot key"), told
    # The key never lowers.
    subprocess.run(["xdotool", "key", "ctrl+alt+shift+r"], check=True)
    assert not bool(tray.line("Raise the bridge")[1].get("enabled", True))
    tray.click("Lower the bridge")
    tray.sees("Connected and idle")
    tray.click("Raise the bridge")
    tray.sees("Raised: nothing can act")
    tray.click("Lower the bridge")
    tray.sees("Connected and idle")
    assert len(notifier.shown("The bridge is raised")) == 1, "who raises in the menu need not be told"
    # Lowered, the platform may have its chat back.
    platform.call("activate", session_id=chat)
    tray.sees("Chats (1)")
    name = tray.labels(tray.line("Chats (1)"))[0]
    tray.click("Chats (1)", name, "Detach")
    tray.sees("Chats (0)")


def loses_the_host(bus, program, tray, environment):
    end_owner(bus, WATCHER)
    number = until("the window, since nothing else shows the program", lambda: windows(program, "^Drawbridge$"))[0]
    says_tray(environment, "none")
    start_host()
    until("the icon is there again", lambda: any(tray.name in item for item in tray.items() or []))
    says_tray(environment, "shown")
    close_window(number)
    until("the window is closed", lambda: not windows(program, "^Drawbridge$"))
    tray.sees("Connected and idle")


def says_tray(environment, state):
    program = str(pathlib.Path(environment["DESK_BIN"]) / "drawbridge")

    def status():
        told = subprocess.run([program, "status", "--json"], env=environment, capture_output=True, text=True)
        return f'"tray":"{state}"' in told.stdout.replace(" ", "")

    until(f"the status says tray {state}", status)


def opens(tray, program):
    tray.item.Activate(0, 0, dbus_interface="org.kde.StatusNotifierItem")
    number = until("the window after a click on the icon", lambda: windows(program, "^Drawbridge$"))[0]
    close_window(number)
    until("the window is closed", lambda: not windows(program, "^Drawbridge$"))
    tray.click("Open Drawbridge")
    number = until("the window", lambda: windows(program, "^Drawbridge$"))[0]
    close_window(number)
    until("the window is closed", lambda: not windows(program, "^Drawbridge$"))


def nobody_answers(bus, tray, platform, log):
    """A service that takes every call and answers none must cost nothing but one line."""
    silent = Notifier(bus, "--never-answers")
    tray.click("Powers", "Attach folders", "Ask each time")
    tray.sees("Powers", "Attach folders: Ask each time")
    machine = platform.machine()
    for _ in range(2):
        asked = asks_for_a_folder(platform, machine)
        tray.click("Question: ", "Deny")
        assert asked.exception(timeout=60) is not None
        tray.sees("Connected and idle")
    until("it was asked", lambda: len(silent.shown("An agent asks")) == 2)
    tray.sees("This desktop shows no notifications")
    assert log.read_text().count("this desktop shows no notifications") == 1


main()
