#!/usr/bin/python3
"""Start at login, the program's log and what can be copied, with the real window and the program that desktops start entries with.

Run it under scripts/desk.sh; DESK_BIN is the folder of the built programs. With DESK_TRAY=none it looks at the start without a
tray host alone.
"""
import contextlib
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time

from desktop_window import Window, gone, until

BIN = pathlib.Path(os.environ["DESK_BIN"])
APP = BIN / "drawbridge-desktop"
CLI = BIN / "drawbridge"
ENTRY = pathlib.Path(os.environ["XDG_CONFIG_HOME"]) / "autostart/drawbridge.desktop"


def runs(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **more)


def must(*words, **more):
    done = runs(*words, **more)
    if done.returncode:
        sys.exit(f"{words}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def equal(what, seen, wanted):
    if seen != wanted:
        sys.exit(f"{what}: {seen!r} instead of {wanted!r}")


def windows():
    return runs("xdotool", "search", "--onlyvisible", "--name", "^Drawbridge$").stdout.split()


def status():
    told = runs(CLI, "status", "--json")
    return json.loads(told.stdout) if told.returncode == 0 else None


def clipboard():
    return runs("xclip", "-o", "-selection", "clipboard").stdout


def end(state):
    """Ends the program in order. With a tray it outlives its window, unless the driver took it along."""
    pid = int((state / "owner.lock").read_text())
    if not gone(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    until("the end of the program", lambda: gone(pid))


@contextlib.contextmanager
def launched(state):
    """Starts the entry as a session does, and ends what it started."""
    # What it starts keeps this output open, so it is a file: nothing here may wait for its end.
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(["gio", "launch", ENTRY], check=True, timeout=60, stdout=output, stderr=output)
        try:
            yield until("the program that the entry starts", status)
        except SystemExit:
            output.seek(0)
            sys.stderr.write(f"{ENTRY.read_text()}\n{output.read()}\n{(state / 'drawbridge.log').read_text()}\n")
            sys.stderr.write(runs("ps", "-eo", "pid,ppid,stat,etime,wchan:20,args").stdout)
            sys.stderr.write(runs(CLI, "status", "--json").stderr)
            raise
    end(state)


def remember(state, first_run):
    (state / "window.json").write_text(json.dumps({"first_run": first_run}))


def switch_on_and_copy(state):
    remember(state, 4)
    window = Window(str(APP))
    try:
        window.turn("settings")
        window.click("#login-start")
        until("the entry", ENTRY.exists)
        window.sees("~/.config/autostart/drawbridge.desktop")
        must("desktop-file-validate", ENTRY)
        equal("start at login", window.invoke("login_start", {})["state"], "on")

        window.click("#logs-show")
        until("the diagnostics", lambda: window.script("return document.querySelector('#logs-text')?.value"))
        text = window.script("return document.querySelector('#logs-text').value")
        for wanted in ["Host: the desktop application", "Web view: 2.", "Check-up", "Secrets: keychain"]:
            if wanted not in text:
                sys.exit(f"{wanted} is missing in {text}")
        for name in [os.environ["HOME"], str(state), os.uname().nodename]:
            if name in text:
                sys.exit(f"{name} is in {text}")
        window.script("document.querySelector('#logs-text').scrollIntoView()")
        window.picture("diagnostics")
        window.click("#logs-copy")
        window.sees("Copied.")
        equal("the clipboard", clipboard(), text)

        window.invoke("send", {"command": {"command": "sign_in"}})
        url = until("the sign-in page", lambda: window.invoke("snapshot", {})["account"]["authorize_url"])
        window.invoke("copy", {"what": "authorize_url"})
        equal("the clipboard", clipboard(), url)
        equal("another thing", window.invoke("copy", {"what": "secrets"}), "unknown_thing")
    finally:
        window.close()
    end(state)


def start_hidden(state):
    with launched(state) as told:
        until("the tray", lambda: (status() or {}).get("tray") == "shown")
        equal("windows beside the tray", windows(), [])
        equal("running", told["running"], True)
    log = state / "drawbridge.log"
    if "painted" not in log.read_text():
        sys.exit(f"the log does not tell of the window before: {log.read_text()}")
    equal("mode of the log", stat.S_IMODE(log.stat().st_mode), 0o600)


def repair_and_switch_off(state):
    ENTRY.write_text(ENTRY.read_text().replace(str(APP), "/gone/Drawbridge.AppImage"))
    remember(state, 4)
    window = Window(str(APP))
    try:
        window.turn("settings")
        window.sees("/gone/Drawbridge.AppImage is not there any more")
        window.picture("login-repair")
        window.click("#login-repair")
        until("the repaired entry", lambda: str(APP) in ENTRY.read_text())
        window.click("#login-start")
        until("no entry", lambda: not ENTRY.exists())
    finally:
        window.close()
    end(state)


def first_run(state):
    remember(state, 3)
    window = Window(str(APP))
    try:
        window.sees("Start Drawbridge when you log in to this computer")
        window.picture("first-run-login")
        window.push("#login-start")
        until("the entry", ENTRY.exists)
    finally:
        window.close()
    end(state)
    must(CLI, "uninstall")
    equal("the entry", ENTRY.exists(), False)


def start_without_a_tray(state):
    must(CLI, "install", "--app")
    with launched(state):
        until("the window, since there is no tray", windows)
    must(CLI, "uninstall")


def main():
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder) / "state"
        state.mkdir(mode=0o700)
        os.environ.update({"DRAWBRIDGE_STATE_DIR": str(state), "DRAWBRIDGE_CONFIG_DIR": folder + "/config", "DRAWBRIDGE_PLATFORM_URL": "ws://127.0.0.1:9"})
        began = time.monotonic()
        if os.environ.get("DESK_TRAY") == "none":
            start_without_a_tray(state)
        else:
            switch_on_and_copy(state)
            start_hidden(state)
            repair_and_switch_off(state)
            first_run(state)
        print(f"start at login, diagnostics and copying: all seen in {time.monotonic() - began:.0f} s")


main()
