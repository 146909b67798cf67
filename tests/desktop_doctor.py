#!/usr/bin/python3
"""The check-up in the real window with a real engine: what it finds, and what its buttons do.

The platform is a port that nobody serves, the state folder is opened to others and the bridge is raised, the keyring is
closed: each is found, and what the window can mend is mended by its button. Run it under scripts/desk.sh; DESK_BIN is
the folder of the built programs, the pages must be built. Pictures go to artefacts/.
"""
import os
import pathlib
import socket
import stat
import subprocess
import tempfile

from desktop_window import Window, until

ROWS = """
return [...document.querySelectorAll('main li')].map((row) => ({
  heading: row.querySelector('h4').innerText, text: row.innerText, bad: row.classList.contains('bad'),
  action: row.querySelector('[data-action]')?.dataset.action ?? null,
}));
"""


class CheckUp:
    def __init__(self, window):
        self.window = window

    def rows(self):
        """What the page shows once a look has ended."""
        done = "return document.querySelector('#doctor-again')?.disabled === false && document.querySelectorAll('main li').length > 10"
        until("the check-up has ended", lambda: self.window.script(done), 90)
        return {row["heading"]: row for row in self.window.script(ROWS)}

    def again(self):
        self.rows()
        self.press("#doctor-again")
        return self.rows()

    def press(self, selector):
        self.window.script(f"document.querySelector({selector!r})?.scrollIntoView({{ block: 'center' }})")
        self.window.click(selector)

    def gone(self, action):
        """Waits for the look that follows a button, in which its finding is gone."""
        until(f"{action} is not offered any more", lambda: self.window.script(f"return document.querySelector('[data-action={action}]') === null"), 90)
        return self.rows()


def main():
    base = pathlib.Path(tempfile.mkdtemp(dir=os.environ["HOME"]))
    state, config = base / "state", base / "config"
    config.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()[1]
    (config / "config.toml").write_text(f'platform_url = "ws://127.0.0.1:{nobody}"\n')
    os.environ |= {"DRAWBRIDGE_STATE_DIR": str(state), "DRAWBRIDGE_CONFIG_DIR": str(config)}
    window = Window(str(pathlib.Path(os.environ["DESK_BIN"]) / "drawbridge-desktop"))
    try:
        until("the page", lambda: window.script("return document.querySelector('main:not(.opening)') !== null"))
        prefs = window.invoke("prefs", {})
        assert window.invoke("set_prefs", {"prefs": prefs | {"first_run": 4, "language": "en"}}) is None
        check_up = CheckUp(window)

        # Everything that a desktop has is there; what is not is said with a way out.
        check_up.press("#nav-doctor")
        rows = check_up.rows()
        for heading in ["Drawbridge", "State folder", "Place for secrets", "Audit log", "Tray icon", "Notifications", "Keys that raise"]:
            assert not rows[heading]["bad"], rows[heading]
        assert rows["Network: connection"]["bad"] and str(nobody) in rows["Network: connection"]["text"], rows["Network: connection"]
        assert rows["Sign-in"]["action"] == "sign_in", rows["Sign-in"]
        window.picture("check-up")

        # A page can name nothing that is not on the list.
        assert window.invoke("doctor_fix", {"action": "/bin/sh"}) == "unknown_action"

        # A folder that others can look into is made private by its button.
        state.chmod(0o755)
        assert check_up.again()["State folder"]["action"] == "make_private"
        check_up.press("[data-action=make_private]")
        check_up.gone("make_private")
        assert stat.S_IMODE(state.stat().st_mode) == 0o700

        # The bridge comes down only after a yes.
        assert isinstance(window.invoke("send", {"command": {"command": "set_raised", "raised": True}}), dict)
        assert check_up.again()["Bridge and settings"]["action"] == "lower"
        check_up.press("[data-action=lower]")
        assert window.invoke("snapshot", {})["raised"]
        check_up.press(".confirm button:last-child")
        check_up.gone("lower")
        assert not window.invoke("snapshot", {})["raised"]

        # What starts with the session is switched on by its button.
        if check_up.rows()["Start at login"]["action"] == "login_start_on":
            check_up.press("[data-action=login_start_on]")
            rows = check_up.gone("login_start_on")
            assert not rows["Start at login"]["bad"], rows["Start at login"]

        # A keyring that was closed meanwhile is noticed, in both languages.
        lock = "org.freedesktop.Secret.Service.Lock"
        collection = "['/org/freedesktop/secrets/collection/login']"
        subprocess.run(["gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path", "/org/freedesktop/secrets", "--method", lock, collection], check=True, stdout=subprocess.DEVNULL)
        rows = check_up.again()
        assert "it is locked now" in rows["Place for secrets"]["text"]
        # The log would be held against what lies there: that would ask the person for the keyring's password.
        assert "was not checked" in rows["Audit log"]["text"]
        assert window.invoke("set_prefs", {"prefs": prefs | {"first_run": 4, "language": "de", "theme": "dark"}}) is None
        window.sees("So lässt sich die Anmeldung nicht erneuern.")
        window.picture("check-up-de")
        print("the check-up finds and mends in the real window")
    finally:
        window.close()


main()
