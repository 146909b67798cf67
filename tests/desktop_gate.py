#!/usr/bin/python3
"""What the window shows when Drawbridge cannot start: locked keychain, no keychain, passphrase, broken files; and moving secrets.

The real program against the real keyring of the desk, and against buses of its own without one. The window is driven through
WebKitWebDriver. Run it under scripts/desk.sh. DESK_BIN is the folder of the built programs. Pictures go to artefacts/.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import dbus

from desktop_window import Platform, Tray, Window, gone, until

PROGRAMS = pathlib.Path(os.environ["DESK_BIN"])
HOME = pathlib.Path(os.environ["HOME"])
APP, CLI = str(PROGRAMS / "drawbridge-desktop"), str(PROGRAMS / "drawbridge")
PASSPHRASE = "correct horse battery staple"
NO_SERVICE = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir={folder}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"""
SECRETS, LOGIN = "/org/freedesktop/secrets", "/org/freedesktop/secrets/collection/login"


class Keyring:
    """The keyring of the desk, which has the password `practice`."""

    def __init__(self):
        self.bus = dbus.SessionBus()
        self.object = self.bus.get_object("org.freedesktop.secrets", SECRETS)
        self.service = dbus.Interface(self.object, "org.freedesktop.Secret.Service")

    def lock(self):
        self.service.Lock([dbus.ObjectPath(LOGIN)])

    def unlock(self):
        _, session = self.service.OpenSession("plain", dbus.String("", variant_level=1))
        inner = dbus.Interface(self.object, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface")
        secret = dbus.Struct((session, dbus.ByteArray(b""), dbus.ByteArray(b"practice"), "text/plain"), signature="oayays")
        inner.UnlockWithMasterPassword(dbus.ObjectPath(LOGIN), secret)

    def entries(self, state):
        """Names of the entries that belong to a state folder."""
        service = "drawbridge-" + (pathlib.Path(state) / "keychain-name").read_text().strip()
        found = [path for part in self.service.SearchItems({"service": service}) for path in part]
        read = lambda path: self.bus.get_object("org.freedesktop.secrets", path).Get("org.freedesktop.Secret.Item", "Attributes", dbus_interface="org.freedesktop.DBus.Properties")
        return sorted(str(read(path)["username"]) for path in found)


def tray_of(number):
    """The tray icon of this process; the host remembers those of former ones too."""
    bus = dbus.SessionBus()
    watcher = bus.get_object("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher")
    items = lambda: watcher.Get("org.kde.StatusNotifierWatcher", "RegisteredStatusNotifierItems", dbus_interface="org.freedesktop.DBus.Properties")

    def owner(item):
        try:
            return bus.call_blocking("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixProcessID", "s", (item.partition("/")[0],))
        except dbus.DBusException:
            return None

    return Tray(until("a tray icon", lambda: [item for item in items() if owner(item) == number])[0])


def process(state):
    """The process that owns a state folder."""
    return int((pathlib.Path(state) / "owner.lock").read_text())


def new_state(**prefs):
    state = pathlib.Path(tempfile.mkdtemp(dir=HOME))
    (state / "window.json").write_text(json.dumps({"first_run": 4} | prefs))
    return state


@contextlib.contextmanager
def opened(state, arguments=(), **environment):
    """The window of a program on this state folder. Ends the program in order."""
    before = dict(os.environ)
    os.environ |= {"DRAWBRIDGE_STATE_DIR": str(state), "BROWSER": "/bin/true"} | environment
    window = None
    try:
        window = Window(APP, arguments)
        yield window
    finally:
        os.environ.clear()
        os.environ |= before
        if status(state)[0] == 0:
            # The program of this window, which lives on in the tray.
            number = process(state)
            os.kill(number, signal.SIGTERM)
            until("the program has ended", lambda: gone(number))
        if window:
            # Nothing is left for it to drive.
            window.driver.kill()
            window.driver.wait()
    until("the state folder is free", lambda: status(state)[0] == 3)


@contextlib.contextmanager
def a_bus_without_a_keychain():
    """A session bus on which nothing is, and nothing can be started."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=HOME))
    (folder / "bus.conf").write_text(NO_SERVICE.format(folder=folder))
    daemon = subprocess.Popen(["dbus-daemon", f"--config-file={folder / 'bus.conf'}", "--nofork", "--print-address"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield daemon.stdout.readline().strip()
    finally:
        daemon.terminate()
        daemon.wait(timeout=20)


def status(state, **environment):
    ran = subprocess.run([CLI, "status", "--json"], env=os.environ | {"DRAWBRIDGE_STATE_DIR": str(state)} | environment, capture_output=True, text=True)
    # A program that is just ending closes the connection without an answer.
    return ran.returncode, json.loads(ran.stdout or "null")


def no_plain_text(state, *needles):
    for path in pathlib.Path(state).rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for needle in needles:
                assert needle.encode() not in content, (path, needle)


def press(window, selector):
    """Presses a button wherever the page has it, also below what is in sight."""
    until(f"{selector} can be pressed", lambda: window.script(f"return document.querySelector({selector!r})?.disabled === false"))
    window.push(selector)


def fill(window, selector, text):
    until(f"the field {selector}", lambda: window.script(f"return document.querySelector({selector!r}) !== null"))
    window.script(f"const field = document.querySelector({selector!r}); field.focus(); field.value = {text!r}; field.dispatchEvent(new Event('input', {{ bubbles: true }}))")


def wide_enough(window):
    assert window.script("return document.documentElement.scrollWidth <= window.innerWidth + 1"), "the page scrolls sideways"


def focus(window):
    return window.script("return document.activeElement.id")


def moving(keyring, platform):
    """From the keychain into the file, the next start asks, and back."""
    state = new_state()
    with opened(state, DRAWBRIDGE_PLATFORM_URL=platform.address) as window:
        sign_in(window, platform)
        assert "default/refresh_token" in keyring.entries(state), keyring.entries(state)
        window.turn("settings")
        window.sees("Where secrets rest")
        press(window, "#secrets-move")
        window.sees("also when it starts with your computer")
        fill(window, "#secrets-new", "short")
        window.sees("Too short")
        fill(window, "#secrets-new", PASSPHRASE)
        fill(window, "#secrets-again", "something else")
        window.sees("These are not the same")
        assert window.script("return document.querySelector('#secrets-use').disabled")
        fill(window, "#secrets-again", PASSPHRASE)
        window.script("document.querySelector('#secrets-title').scrollIntoView()")
        window.picture("secrets-to-file")
        press(window, "#secrets-use")
        window.sees("Moved. Nothing is left in the keychain.")
        assert keyring.entries(state) == [], keyring.entries(state)
        assert not window.script("return document.body.innerHTML").count(PASSPHRASE)
    no_plain_text(state, PASSPHRASE)

    with opened(state, DRAWBRIDGE_PLATFORM_URL=platform.address) as window:
        window.sees("Your passphrase is needed")
        until("the field has the focus", lambda: focus(window) == "gate-passphrase")
        window.picture("gate-passphrase")
        wide_enough(window)
        sealed = (state / "secrets.enc").read_bytes()
        fill(window, "#gate-passphrase", "not this one")
        press(window, "#gate-unlock")
        window.sees("This passphrase does not open the file.")
        window.picture("gate-wrong-passphrase")
        assert (state / "secrets.enc").read_bytes() == sealed
        code, told = status(state)
        assert code == 0 and told["running"] and not told["connected"], told
        assert told["trouble"]["code"] == "not_started", told
        fill(window, "#gate-passphrase", PASSPHRASE)
        press(window, "#gate-unlock")
        window.sees("No agent has a folder")
        window.turn("settings")
        window.sees("Where secrets rest")
        until("the keychain was found", lambda: window.script("return document.querySelector('#secrets-move') !== null"))
        press(window, "#secrets-move")
        window.sees("the encrypted file is removed")
        window.script("document.querySelector('#secrets-title').scrollIntoView()")
        window.picture("secrets-to-keychain")
        press(window, "[role=alertdialog] button:last-child")
        window.sees("Moved. The encrypted file is gone.")
        assert not (state / "secrets.enc").exists()
        assert "default/refresh_token" in keyring.entries(state)
    with opened(state, DRAWBRIDGE_PLATFORM_URL=platform.address) as window:
        window.sees("No agent has a folder")
        window.turn("links")
        window.sees("Signed in")
    return state


def sign_in(window, platform):
    import urllib.request
    window.turn("links")
    window.click("#sign-in")
    platform.call("consent", mode="allow")
    authorize = until("the sign-in address", lambda: window.script("return document.querySelector('#authorize-url')?.value"))
    with urllib.request.urlopen(authorize, timeout=20) as page:
        page.read()
    window.sees("No agent has a folder")


def locked(keyring, state, platform):
    """A locked keychain: the page says so, goes on by itself, and without a window the tray says so."""
    keyring.lock()
    try:
        with opened(state, DRAWBRIDGE_PLATFORM_URL=platform.address) as window:
            window.sees("The keychain is locked")
            window.picture("gate-locked")
            tray = tray_of(process(state))
            assert "Drawbridge has not started" in tray.lines(), tray.lines()
            press(window, "#gate-retry")
            window.sees("the same thing is still in the way")
            # Nobody answers the keyring's own question here; the page stays alive meanwhile and says what to do.
            press(window, "#gate-raise")
            window.sees("Raised: nothing can act")
            assert json.loads((state / "settings.json").read_text())["raised"] is True
            keyring.unlock()
            window.sees("Nothing can act")
            until("the way is free", lambda: window.script("return document.querySelector('#lower') !== null"))
            press(window, "#lower")
            window.sees("No agent has a folder")
        keyring.lock()
        hidden(state)
    finally:
        keyring.unlock()


def hidden(state):
    """Started with the session: the tray alone, then the window for a second start."""
    environment = os.environ | {"DRAWBRIDGE_STATE_DIR": str(state)}
    program = subprocess.Popen([APP, "--hidden"], env=environment, stderr=subprocess.DEVNULL)
    windows = lambda: subprocess.run(["xdotool", "search", "--all", "--onlyvisible", "--pid", str(program.pid), "--name", "^Drawbridge$"], capture_output=True, text=True).stdout.split()
    try:
        tray = tray_of(program.pid)
        until("the tray says it", lambda: "Drawbridge has not started" in tray.lines())
        until("the engine's place is taken", lambda: status(state)[0] == 0)
        assert windows() == [], "no window was asked for"
        second = subprocess.run([APP], env=environment, timeout=30, stderr=subprocess.DEVNULL)
        assert second.returncode == 0
        until("the window for the second start", windows)
        tray.click("Quit")
        assert program.wait(timeout=20) == 0
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()


def without_a_keychain():
    """No keychain at all: an encrypted file is offered, and nothing is ever written in clear."""
    state = new_state(theme="dark", language="de")
    with a_bus_without_a_keychain() as bus:
        with opened(state, DBUS_SESSION_BUS_ADDRESS=bus) as window:
            window.sees("Es gibt keinen Platz für Ihre Anmeldung")
            press(window, "#gate-file")
            fill(window, "#gate-file-new", PASSPHRASE)
            fill(window, "#gate-file-again", PASSPHRASE)
            window.picture("gate-no-keychain-de-dark")
            wide_enough(window)
            press(window, "#gate-file-use")
            until("the engine runs", lambda: window.script("return document.querySelector('#raise') !== null"))
            assert (state / "secrets.enc").stat().st_mode & 0o777 == 0o600
        no_plain_text(state, PASSPHRASE)
        with opened(state, DBUS_SESSION_BUS_ADDRESS=bus) as window:
            window.sees("Ihre Passphrase wird gebraucht")
    # The file wins also where a keychain is.
    prefs = json.loads((state / "window.json").read_text()) | {"language": "en", "theme": "light", "zoom": 200}
    (state / "window.json").write_text(json.dumps(prefs))
    with opened(state) as window:
        window.sees("Your passphrase is needed")
        until("twice the size", lambda: window.script("return window.innerWidth") < 700)
        window.picture("gate-passphrase-200")
        wide_enough(window)
        fill(window, "#gate-passphrase", PASSPHRASE)
        press(window, "#gate-unlock")
        until("the engine runs", lambda: window.script("return document.querySelector('#raise') !== null"))


def broken():
    """A list that cannot be read: set aside only after a second question."""
    state = new_state()
    with opened(state) as window:
        window.sees("Nothing can act")
    (state / "bindings.json").write_text('{"v":7,"sessions":')
    with opened(state) as window:
        window.sees("A file cannot be trusted")
        window.sees("bindings.json")
        press(window, "#gate-aside")
        window.sees("Nothing is removed")
        window.picture("gate-broken")
        window.keys("\ue00c")
        until("the question is gone", lambda: window.script("return document.querySelector('[role=alertdialog]') === null"))
        assert (state / "bindings.json").read_text() == '{"v":7,"sessions":'
        press(window, "#gate-check")
        window.sees("Check-up")
        press(window, "#gate-aside")
        press(window, "[role=alertdialog] button:last-child")
        until("the engine runs", lambda: window.script("return document.querySelector('#raise') !== null"))
    assert (state / "bindings.json.broken-1").read_text() == '{"v":7,"sessions":'


def quits():
    """The page's own way out."""
    state = new_state()
    (state / "secrets.enc").write_text("{}")
    (state / "window.json").write_text('{"first_run": 4}')
    with opened(state) as window:
        window.sees("Your passphrase is needed")
        assert window.invoke("send", {"command": {"command": "set_raised", "raised": False}}) == "not_started"
        window.push("#gate-quit")
        until("the program has ended", lambda: status(state)[0] == 3)
    assert (state / "secrets.enc").read_text() == "{}"


def main():
    keyring = Keyring()
    with Platform(CLI) as platform:
        state = moving(keyring, platform)
        locked(keyring, state, platform)
    without_a_keychain()
    broken()
    quits()
    print("what is in the way of a start: all seen")


main()
