"""The real window through WebKitWebDriver and the tray over D-Bus: what the window tests share."""
import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import dbus

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "artefacts"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def until(what, probe, seconds=30):
    """Waits for a state, not for a time: the limit only ends a broken run."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    sys.exit(f"not seen in {seconds} s: {what}")


class Window:
    def __init__(self, program, arguments=()):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        environment = os.environ | {"TAURI_AUTOMATION": "true", "TAURI_WEBVIEW_AUTOMATION": "true"}
        self.driver = subprocess.Popen(["WebKitWebDriver", f"--port={port}"], env=environment)
        until("the driver", lambda: self.answers("GET", "/status"))
        options = {"binary": program, "args": list(arguments)}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": wanted})["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from error

    def answers(self, method, path):
        try:
            return self.call(method, path)
        except (OSError, RuntimeError):
            return None

    def script(self, text):
        return self.call("POST", self.session + "/execute/sync", {"script": text, "args": []})

    def text(self):
        return self.script("return document.body.innerText")

    def sees(self, words):
        until(f"the words {words!r}", lambda: words in (self.text() or ""))

    def click(self, selector):
        find = {"using": "css selector", "value": selector}
        found = until(selector, lambda: self.answers_element(find))
        self.call("POST", f"{self.session}/element/{found}/click", {})

    def answers_element(self, find):
        try:
            return self.call("POST", self.session + "/element", find)[ELEMENT]
        except RuntimeError:
            return None

    def keys(self, text):
        actions = [{"type": "keyDown", "value": text}, {"type": "keyUp", "value": text}]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def picture(self, name):
        PICTURES.mkdir(exist_ok=True)
        data = base64.b64decode(self.call("GET", self.session + "/screenshot"))
        (PICTURES / f"{name}.png").write_bytes(data)

    def close(self):
        self.answers("DELETE", self.session)
        self.driver.terminate()
        self.driver.wait()


class Tray:
    def __init__(self):
        self.bus = dbus.SessionBus()
        watcher = self.bus.get_object("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher")
        read = lambda: watcher.Get("org.kde.StatusNotifierWatcher", "RegisteredStatusNotifierItems", dbus_interface="org.freedesktop.DBus.Properties")
        self.name, _, path = until("a tray icon", read)[0].partition("/")
        item = self.bus.get_object(self.name, "/" + path)
        menu = item.Get("org.kde.StatusNotifierItem", "Menu", dbus_interface="org.freedesktop.DBus.Properties")
        self.menu = dbus.Interface(self.bus.get_object(self.name, menu), "com.canonical.dbusmenu")

    def lines(self):
        _, root = self.menu.GetLayout(0, -1, dbus.Array([], signature="s"))
        return {str(line[1].get("label", "")).replace("_", ""): int(line[0]) for line in root[2]}

    def click(self, start):
        number = next(number for label, number in self.lines().items() if label.startswith(start))
        self.menu.Event(number, "clicked", dbus.String("", variant_level=1), dbus.UInt32(int(time.time())))
