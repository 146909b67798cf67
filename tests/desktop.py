#!/usr/bin/python3
"""The main job, seen from the chair: sign in, attach a folder, let the platform write and run a command, stop everything.

The real program with its real engine against `drawbridge practice`; the window is driven through WebKitWebDriver, the tray
over D-Bus. Run it under scripts/desk.sh. DESK_BIN is the folder of the built programs. Pictures go to artefacts/.
"""
import os
import pathlib
import tempfile
import urllib.request

from desktop_window import Platform, Tray, Window, until


def main():
    programs = pathlib.Path(os.environ["DESK_BIN"])
    home = pathlib.Path(os.environ["HOME"])
    folder = home / "Quarterly report"
    folder.mkdir()
    (folder / "figures.csv").write_text("month,sold\nmarch,1200\n")
    state = tempfile.mkdtemp(dir=home)
    # The first run is over; it has a test of its own.
    (pathlib.Path(state) / "window.json").write_text('{"first_run": 4}')
    with Platform(programs / "drawbridge") as platform:
        os.environ |= {
            "DRAWBRIDGE_PLATFORM_URL": platform.address,
            "DRAWBRIDGE_STATE_DIR": state,
            # Nobody sits here: the browser is played below.
            "BROWSER": "/bin/true",
        }
        window = Window(str(programs / "drawbridge-desktop"))
        try:
            story(window, platform, folder)
        finally:
            window.close()
    print("window and tray: all seen")


def story(window, platform, folder):
    window.sees("Nothing can act")
    window.picture("signed-out")
    # The policy of the page really holds in this web view: no code made from text.
    refused = window.script("try { new Function('return 1')(); return 'ran' } catch (error) { return error.name }")
    assert refused == "EvalError", refused
    assert window.invoke("send", {"command": {"command": "shutdown"}}) == "not_for_the_page"

    window.turn("links")
    window.click("#sign-in")
    window.sees("Finish signing in")
    window.picture("signing-in")
    platform.call("consent", mode="allow")
    authorize = until("the sign-in address", lambda: window.script("return document.querySelector('#authorize-url')?.value"))
    with urllib.request.urlopen(authorize, timeout=20) as page:
        page.read()
    window.sees("No agent has a folder")
    window.picture("signed-in")

    machine = platform.machine()
    chat = platform.call("chat", session_id="quarterly-report")["session_id"]
    # The question is answered in the window while the platform waits for the folder.
    asked = platform.later("attach", machine_id=machine, session_id=chat, **platform.browse_to(window, machine, folder))
    until("the question about the folder", window.asks)
    window.allow_once()
    asked.result(timeout=150)
    platform.call("activate", session_id=chat)
    window.sees("An agent can work in")

    done = platform.operate(chat, "FILE_WRITE", path="summary.md", content="# Summary\n\n1200 sold in March.\n", encoding="utf-8")
    assert done["type"] == "ACK" or "error" not in str(done.get("type", "")).lower(), done
    assert (folder / "summary.md").read_text().startswith("# Summary")
    platform.operate(chat, "FILE_READ", path="figures.csv")
    platform.operate(chat, "FILE_WRITE", path="summary.md", content="# Summary\n\n1200 sold in March, 900 in April.\n", encoding="utf-8")
    try:
        platform.operate(chat, "FILE_READ", path="../outside.txt")
        raise AssertionError("a file outside of the folder was read")
    except RuntimeError as refused:
        assert "PATH_OUTSIDE_ALLOWED_ROOT" in str(refused), refused
    window.turn("activity")
    window.sees("summary.md")

    window.turn("powers")
    window.sees("Commands")
    window.click("#power-shell-ask_each_time")
    until("commands are on", lambda: window.script("return document.querySelector('#power-shell-ask_each_time').ariaPressed") == "true")
    window.sees("Confined")
    window.picture("powers")
    platform.offers(machine, "shell")
    ran = platform.later("operate", session_id=chat, type="EXECUTE_COMMAND", payload={"argv": ["wc", "-l", "figures.csv"]}, limit_ms=60000)
    with window.prompt():
        window.sees("wc")
        until("deny has the focus", lambda: window.script("return document.activeElement.id") == "prompt-deny")
        window.picture("prompt")
    # The main page can neither answer nor say that it has shown a question.
    for command in [{"command": "answer_prompt", "id": 1, "revision": 1, "answer": "allow_once"}, {"command": "prompt_painted", "id": 1, "revision": 1}]:
        assert window.invoke("send", {"command": command}) == "not_for_the_page"
    window.allow_once()
    result = ran.result(timeout=150)
    assert "figures.csv" in str(result), result

    window.turn("activity")
    window.sees("wc")
    window.picture("activity")
    window.sees("Audit log")
    window.turn("links")
    window.picture("links")
    window.turn("settings")
    window.picture("settings")
    window.turn("chats")
    window.sees("Quarterly report")
    window.picture("chats")
    # Twice the size is half the room: the page must not scroll sideways.
    zoomed = window.invoke("prefs", {}) | {"zoom": 200}
    window.invoke("set_prefs", {"prefs": zoomed})
    until("twice the size", lambda: window.script("return window.innerWidth") < 700)
    window.picture("zoom-200")
    assert window.script("return document.documentElement.scrollWidth <= window.innerWidth + 1"), "sideways at 200 %"
    assert window.invoke("set_prefs", {"prefs": zoomed | {"theme": "pink"}}) == "bad_prefs"
    window.invoke("set_prefs", {"prefs": zoomed | {"zoom": 100, "theme": "dark"}})
    until("the dark look", lambda: window.script("return matchMedia('(prefers-color-scheme: dark)').matches"))
    window.picture("chats-dark")

    tray = Tray()
    window.click("#raise")
    window.sees("Nothing can act")
    until("the tray says raised", lambda: "Raised: nothing can act" in tray.lines())
    window.picture("raised")
    tray.click("Lower the bridge")
    window.sees("No chat is open right now")
    tray.click("Raise the bridge")
    window.sees("Nothing can act")
    tray.click("Open Drawbridge")
    tray.click("Quit")
    until("the program has left the bus", lambda: not tray.bus.name_has_owner(tray.name))


main()
