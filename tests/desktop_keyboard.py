#!/usr/bin/python3
"""The whole story with the keyboard alone: first steps, sign-in, a folder, powers, questions, a change taken back, the stop.

The real program with its real engine against `drawbridge practice`. Every key is a real one: xdotool presses it on the X server,
and it goes to whichever window has the focus, as from a keyboard. WebDriver only looks: which element has the focus, and what
the page says. Nothing is clicked. Run it under scripts/desk.sh; DESK_BIN is the folder of the built programs.
"""
import os
import pathlib
import subprocess
import tempfile
import urllib.request

from desktop_window import Platform, Window, until

# Counts keys that the page has done with: only then the focus is where it was sent.
COUNT = "if (window.__keys === undefined) { window.__keys = 0; addEventListener('keyup', () => window.__keys++, true); } return window.__keys"
#: No page has as many stops.
STOPS = 80


class Keyboard:
    def __init__(self, window):
        self.window = window

    def focused(self, title):
        """Waits until the window manager has given the focus to the window with this title."""
        until(f"the focus on {title}", lambda: self.run("getwindowfocus", "getwindowname") == title)

    @staticmethod
    def run(*arguments):
        return subprocess.run(["xdotool", *arguments], capture_output=True, text=True).stdout.strip()

    def press(self, key):
        """Presses a key whose end this page will see."""
        before = self.window.script(COUNT)
        self.run("key", "--clearmodifiers", key)
        until(f"the page has done with {key}", lambda: self.window.script(COUNT) > before)

    def send(self, key):
        """Presses a key that may take the page away."""
        self.run("key", "--clearmodifiers", key)

    def type(self, selector, text):
        """Types into what has the focus."""
        self.run("type", "--clearmodifiers", text)
        until(f"{text} in {selector}", lambda: self.window.script(f"return document.querySelector({selector!r}).value") == text)

    def at(self, selector):
        return self.window.script(f"return document.activeElement.matches({selector!r})")

    def to(self, selector, key="Tab"):
        """Goes on with a key until the focus is there."""
        until(f"{selector} is there and can be used", lambda: self.window.script(f"const it = document.querySelector({selector!r}); return it !== null && !it.disabled"))
        seen = []
        for _ in range(STOPS):
            if self.at(selector):
                return self.shown(selector)
            self.press(key)
            seen.append(self.window.script("const it = document.activeElement; return it.id || it.textContent.trim().slice(0, 20)"))
        raise AssertionError(f"{key} does not lead to {selector}: {seen}")

    def shown(self, selector):
        """Where the focus is, it can be seen: it has a ring, and nothing lies above it."""
        covered = """
        const it = document.querySelector(arguments[0]), box = it.getBoundingClientRect();
        const above = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return { ring: getComputedStyle(it).outlineStyle !== 'none', free: above !== null && (it === above || it.contains(above)) };
        """
        call = {"script": covered, "args": [selector]}
        until(f"{selector} can be seen", lambda: self.window.call("POST", self.window.session + "/execute/sync", call) == {"ring": True, "free": True})

    def use(self, selector, key="Return"):
        self.to(selector)
        self.send(key)

    def page(self, name):
        """The list of pages is one stop; arrows move within."""
        self.to("nav [aria-current]")
        self.to(f"#nav-{name}", "Down")
        self.press("Return")
        until(f"the page {name}", lambda: self.window.script(f"return document.querySelector('#nav-{name}').ariaCurrent") == "page")


def main():
    programs = pathlib.Path(os.environ["DESK_BIN"])
    home = pathlib.Path(os.environ["HOME"])
    folder = home / "Quarterly report"
    folder.mkdir()
    (folder / "figures.csv").write_text("month,sold\nmarch,1200\n")
    (folder / "summary.md").write_text("# Summary\n")
    with Platform(programs / "drawbridge") as platform:
        os.environ |= {
            "DRAWBRIDGE_PLATFORM_URL": platform.address,
            "DRAWBRIDGE_STATE_DIR": tempfile.mkdtemp(dir=home),
            # Nobody sits here: the browser is played below.
            "BROWSER": "/bin/true",
        }
        window = Window(str(programs / "drawbridge-desktop"))
        try:
            story(window, Keyboard(window), platform, folder)
        finally:
            window.close()
    print("keyboard alone: all done")


def story(window, keys, platform, folder):
    window.sees("You decide what crosses the bridge")
    keys.focused("Drawbridge")
    for heading in ["Sign in to your platform", "Choose where agents may look for folders", "Choose what agents may do"]:
        keys.use("#first-next")
        window.sees(heading)
        # The focus goes where reading goes on.
        until(f"the focus on “{heading}”", lambda: keys.at("h2"))
        if heading.startswith("Sign in"):
            sign_in(window, keys, platform)
    keys.use("#first-next")
    window.sees("No agent has a folder")

    machine = platform.machine()
    chat = platform.call("chat", session_id="quarterly-report")["session_id"]
    asked = platform.later("attach", machine_id=machine, session_id=chat, **platform.browse_to(window, machine, folder))
    with window.prompt():
        keys.focused("An agent asks")
        until("deny has the focus", lambda: keys.at("#prompt-deny"))
        keys.use("#prompt-once")
        until("the answer", asked.done, 60)
        asked.result()
    keys.focused("Drawbridge")
    platform.call("activate", session_id=chat)
    window.sees("An agent can work in")

    keys.page("powers")
    keys.use("#power-shell-ask_each_time", "space")
    until("commands ask", lambda: window.script("return document.querySelector('#power-shell-ask_each_time').ariaPressed") == "true")
    platform.offers(machine, "shell")
    commands(window, keys, platform, chat)
    taken_back(window, keys, platform, chat, folder)
    models_and_devices(window, keys)

    keys.use("#raise")
    window.sees("Nothing can act")
    until("the focus on the words", lambda: keys.at("h1"))
    # Who presses the key again and again to be sure does not lower the bridge by it.
    keys.press("Return")
    keys.press("space")
    assert window.invoke("snapshot", {})["raised"]
    keys.use("#lower")
    window.sees("No chat is open right now")
    assert not window.invoke("snapshot", {})["raised"]


def sign_in(window, keys, platform):
    keys.use("#sign-in")
    window.sees("Finish signing in")
    platform.call("consent", mode="allow")
    authorize = until("the sign-in address", lambda: window.script("return document.querySelector('#authorize-url')?.value"))
    with urllib.request.urlopen(authorize, timeout=20) as page:
        page.read()
    window.sees("Signed in")


def commands(window, keys, platform, chat):
    run = lambda: platform.later("operate", session_id=chat, type="EXECUTE_COMMAND", payload={"argv": ["wc", "-l", "figures.csv"]}, limit_ms=60000)
    ran = run()
    with window.prompt():
        keys.focused("An agent asks")
        window.sees("wc")
        until("deny has the focus", lambda: keys.at("#prompt-deny"))
        # What allows is never one key away: Enter and the blank are for what has the focus, letters for nothing.
        keys.press("a")
        assert not ran.done()
        keys.send("Escape")
        until("the answer", ran.done, 60)
    try:
        ran.result()
        raise AssertionError("a denied command ran")
    except RuntimeError as refused:
        assert '"reason":"declined"' in str(refused), refused
    keys.focused("Drawbridge")

    ran = run()
    with window.prompt():
        keys.focused("An agent asks")
        until("it can be allowed", lambda: window.script("return document.querySelector('#prompt-once')?.disabled") is False)
        keys.send("alt+1")
        until("the answer", ran.done, 60)
    assert "figures.csv" in str(ran.result()), ran.result()
    keys.focused("Drawbridge")


def models_and_devices(window, keys):
    """What widens asks first, with the focus on the harmless answer; a form can be given up and comes back to where it began."""
    keys.page("models")
    keys.use("#power-local_model-ask_each_time", "space")
    until("the power is on", lambda: window.script("return document.querySelector('#power-local_model-ask_each_time').ariaPressed") == "true")
    keys.use("#models-add")
    until("the address has the focus", lambda: keys.at("#server-address"))
    keys.type("#server-address", "box.example:11434")
    keys.press("Return")
    window.sees("Prompts would leave this computer: box.example:11434")
    until("the harmless answer has the focus", lambda: keys.at(".confirm button"))
    keys.press("Return")
    until("the address has the focus again", lambda: keys.at("#server-address"))
    keys.send("Escape")
    until("the focus is where it was", lambda: keys.at("#models-add"))
    assert "box.example" not in str(window.invoke("snapshot", {})["models"])
    keys.use("#privacy-all", "space")
    until("contents stay here", lambda: window.invoke("snapshot", {})["models"]["private_all"])
    keys.use("#privacy-all", "space")
    until("the harmless answer has the focus", lambda: keys.at(".confirm button"))
    keys.to(".confirm button:last-child")
    keys.press("Return")
    until("contents may go out", lambda: not window.invoke("snapshot", {})["models"]["private_all"])
    keys.page("devices")
    keys.use("#devices-look")
    until("they were looked for", lambda: window.invoke("snapshot", {})["devices"]["looked"])
    keys.use("#port-add")
    until("the path has the focus", lambda: keys.at("#port-path"))
    keys.type("#port-path", "/etc/passwd")
    keys.press("Return")
    until("why that is no port", lambda: window.script("return document.querySelector('#port-wrong')?.textContent"))
    until("the path has the focus still", lambda: keys.at("#port-path"))
    keys.send("Escape")
    until("the focus is where it was", lambda: keys.at("#port-add"))


def taken_back(window, keys, platform, chat, folder):
    platform.operate(chat, "FILE_WRITE", path="summary.md", content="# Overwritten\n", encoding="utf-8")
    assert (folder / "summary.md").read_text() == "# Overwritten\n"
    keys.page("chats")
    window.sees("What changed")
    keys.use("main li.card .parts button[aria-expanded]")
    window.sees("summary.md")
    keys.use("main .changes button", "space")
    until("the file is as it was", lambda: (folder / "summary.md").read_text() == "# Summary\n")
    window.sees("Taken back")


main()
