"""The real window through WebKitWebDriver and the tray over D-Bus: what the window tests share."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
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


def until(what, probe, seconds=60):
    """Waits for a state, not for a time: the limit only ends a broken run."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    sys.exit(f"not seen in {seconds} s: {what}")


def gone(pid):
    """Tells whether a process has ended, also one whose end nobody has asked for. It may go while it is looked at."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Window:
    """The windows of one program. WebKitWebDriver reaches each of them by its handle, since all share one web context; the
    main window is the current one, except within `prompt()`."""

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

    def answers(self, method, path, body=None):
        try:
            return self.call(method, path, body)
        except (OSError, RuntimeError):
            return None

    def script(self, text):
        return self.call("POST", self.session + "/execute/sync", {"script": text, "args": []})

    def invoke(self, command, arguments):
        """Calls a command as the page would; gives what came back, or the code of the refusal."""
        call = "const [name, given, done] = arguments; window.__TAURI_INTERNALS__.invoke(name, given).then(done, error => done(error.code))"
        return self.call("POST", self.session + "/execute/async", {"script": call, "args": [command, arguments]})

    def handles(self):
        return self.answers("GET", self.session + "/window/handles") or []

    def to(self, page):
        """Makes the window with this page the current one: index.html, prompt.html or pill.html."""
        until(f"the page {page}", lambda: any(self.is_at(handle, page) for handle in self.handles()))

    def is_at(self, handle, page):
        # It may close at any moment.
        try:
            self.call("POST", self.session + "/window", {"handle": handle})
            url = self.call("GET", self.session + "/url")
            others = [other for other in ("prompt.html", "pill.html") if url.endswith(f"/{other}")]
            return others == ([] if page == "index.html" else [page])
        except RuntimeError:
            return False

    @contextlib.contextmanager
    def prompt(self):
        """Within, the window for questions is the current one."""
        self.to("prompt.html")
        try:
            yield self
        finally:
            # The answer may have closed it.
            self.to("index.html")

    def allow_once(self):
        """Answers the question that is there, and waits until it is gone."""
        with self.prompt():
            ready = "return document.querySelector('#prompt-once')?.disabled === false"
            until("allow once can be pressed", lambda: self.script(ready))
            self.push("#prompt-once")
            until("the answered question is gone", lambda: not self.asks())

    def push(self, selector):
        """Pushes a button that may close its window, as a key would. The driver's own click would wait for good for a window that is
        gone, and misses its aim in an enlarged page."""
        until(f"{selector}", lambda: self.script(f"return document.querySelector({selector!r}) !== null"))
        # The window, or the program, may be gone before the driver has its answer. Whoever called sees what came of it.
        script = {"script": f"setTimeout(() => document.querySelector({selector!r}).click())", "args": []}
        self.answers("POST", self.session + "/execute/sync", script)

    def asks(self):
        """Tells whether the window for questions is there. The bar of the screen may be, too."""
        handles = self.handles()
        if len(handles) < 2:
            return False
        asking = any(self.is_at(handle, "prompt.html") for handle in handles)
        self.to("index.html")
        return asking

    def text(self):
        return self.script("return document.body.innerText")

    def sees(self, words):
        until(f"the words {words!r}", lambda: words in (self.text() or ""))

    def click(self, selector):
        until(f"{selector} can be pressed", lambda: self.clicked(selector))

    def clicked(self, selector):
        """Presses what can be pressed at this moment; tells whether it was."""
        found = self.answers_element({"using": "css selector", "value": selector})
        if not found or self.script(f"return document.querySelector({selector!r})?.disabled"):
            return False
        try:
            self.call("POST", f"{self.session}/element/{found}/click", {})
        except RuntimeError as refused:
            # Nothing was pressed: it moves, or something that is closing lies over it, or it was drawn anew meanwhile.
            if not any(why in str(refused) for why in ("click intercepted", "stale element", "not interactable")):
                raise
            return False
        return True

    def turn(self, page):
        """Turns to a page, and sees it there. What is still closing over the list takes a press for itself."""
        current = f"return document.querySelector('#nav-{page}')?.ariaCurrent"

        def there():
            if self.script(current) == "page":
                return True
            self.script(f"document.querySelector('#nav-{page}')?.scrollIntoView({{ block: 'center' }})")
            self.clicked(f"#nav-{page}")
            return False

        until(f"the page {page}", there)

    def answers_element(self, find):
        try:
            return self.call("POST", self.session + "/element", find)[ELEMENT]
        except RuntimeError:
            return None

    def keys(self, text):
        actions = [{"type": "keyDown", "value": text}, {"type": "keyUp", "value": text}]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def keys_in(self, text):
        """Types into what has the focus."""
        for letter in text:
            self.keys(letter)

    def picture(self, name):
        PICTURES.mkdir(exist_ok=True)
        # The picture shows what was painted last: let two frames pass.
        self.call(
            "POST",
            self.session + "/execute/async",
            {"script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))", "args": []},
        )
        # Of what the X server shows, as a person sees it; the driver's own picture never came back at times.
        title = f"^{re.escape(self.script('return document.title'))}$"
        find = ["xdotool", "search", "--onlyvisible", "--name", title]
        found = until(f"the window {title}", lambda: subprocess.run(find, capture_output=True, text=True).stdout.split())
        subprocess.run(["import", "-window", found[-1], str(PICTURES / f"{name}.png")], check=True, timeout=60)

    def close(self):
        self.answers("DELETE", self.session)
        self.driver.terminate()
        try:
            self.driver.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.driver.kill()


class Platform:
    """`drawbridge practice` and its calls."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "practice", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        with urllib.request.urlopen(self.address, timeout=20) as page:
            self.token = re.search(r'name="token" content="([^"]+)"', page.read().decode()).group(1)
        self.pool = concurrent.futures.ThreadPoolExecutor()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.pool.shutdown(wait=False, cancel_futures=True)

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"x-practice-token": self.token, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/api/practice/{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()}") from error

    def call(self, name, **body):
        """Asks, and asks again as a platform does while a person has not decided, or while the link is renewed since something changed
        of what is offered."""
        end = time.monotonic() + 120
        while True:
            try:
                return self.ask(name, body)
            except RuntimeError as refused:
                again = any(why in str(refused) for why in ("waiting_for_local_consent", "not_connected"))
                if not again or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def later(self, name, **body):
        return self.pool.submit(self.call, name, **body)

    def operate(self, chat, kind, **payload):
        return self.call("operate", session_id=chat, type=kind, payload=payload, limit_ms=60000)

    def sign_in(self, window):
        """Signs the machine in by its window; the browser is played here."""
        window.turn("links")
        window.click("#sign-in")
        window.sees("Finish signing in")
        self.call("consent", mode="allow")
        address = until("the sign-in address", lambda: window.script("return document.querySelector('#authorize-url')?.value"))
        with urllib.request.urlopen(address, timeout=20) as page:
            page.read()
        window.sees("No agent has a folder")

    def links(self):
        return self.ask("state?max=0")["links"]

    def machine(self):
        control = until("the control link", lambda: [link for link in self.links() if "control" in link["scope"]])
        return control[0]["scope"]["control"]

    def offers(self, machine, capability):
        """Waits until the machine has said that it can do this, on every link."""
        until(f"{capability} is offered", lambda: self.links() and all(capability in str(link["granted"]) for link in self.links()))

    def browse_to(self, window, machine, folder):
        """Walks to a folder as the picker of the platform does, and answers the window's questions on the way."""
        page = self.answered(window, "browse", machine_id=machine)
        for name in ["Home", folder.name]:
            entries = page["entries"]
            found = next((e for e in entries if e["name"] == name), None) or next(e for e in entries if "ome" in e["name"])
            place = {"browse_id": page["browse_id"], "directory_ref": found["directory_ref"]}
            if found["name"] == folder.name:
                return place
            page = self.answered(window, "browse", machine_id=machine, **place)
        raise RuntimeError(f"{folder} was not offered")

    def answered(self, window, name, **body):
        waiting = self.later(name, **body)

        def look():
            if not waiting.done() and window.asks():
                window.allow_once()
            return waiting.done()

        until(f"an answer to {name}", look, 60)
        return waiting.result()


class Tray:
    def __init__(self, item=None):
        self.bus = dbus.SessionBus()
        watcher = self.bus.get_object("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher")
        read = lambda: watcher.Get("org.kde.StatusNotifierWatcher", "RegisteredStatusNotifierItems", dbus_interface="org.freedesktop.DBus.Properties")
        self.name, _, path = (item or until("a tray icon", read)[0]).partition("/")
        item = self.bus.get_object(self.name, "/" + path)
        menu = item.Get("org.kde.StatusNotifierItem", "Menu", dbus_interface="org.freedesktop.DBus.Properties")
        self.menu = dbus.Interface(self.bus.get_object(self.name, menu), "com.canonical.dbusmenu")

    def lines(self):
        _, root = self.menu.GetLayout(0, -1, dbus.Array([], signature="s"))
        return {str(line[1].get("label", "")).replace("_", ""): int(line[0]) for line in root[2]}

    def click(self, start):
        number = next(number for label, number in self.lines().items() if label.startswith(start))
        self.menu.Event(number, "clicked", dbus.String("", variant_level=1), dbus.UInt32(int(time.time())))
