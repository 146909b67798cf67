#!/usr/bin/python3
"""Drives the real window through WebKitWebDriver and the tray over D-Bus. Run it under scripts/desk.sh.

DESK_BIN is the program to drive. Pictures go to artefacts/.
"""
import os

from desktop_window import Tray, Window, until


def main():
    window = Window(os.environ["DESK_BIN"])
    try:
        window.sees("Lowered: agents can act")
        window.sees("Quarterly report")
        window.picture("chats")
        # The policy of the page really holds in this web view: no code made from text.
        refused = window.script("try { new Function('return 1')(); return 'ran' } catch (error) { return error.name }")
        assert refused == "EvalError", refused
        denied = window.call(
            "POST",
            window.session + "/execute/async",
            {
                "script": "const done = arguments[0]; window.__TAURI_INTERNALS__.invoke('send', {command: {command: 'shutdown'}})"
                ".then(() => done('ran'), error => done(error.code))",
                "args": [],
            },
        )
        assert denied == "not_for_the_page", denied

        for page, words in (("powers", "Confined"), ("activity", "FILE_WRITE"), ("undo", "summary.md"), ("account", "Audit log")):
            window.click(f"#nav-{page}")
            window.sees(words)
            window.picture(page)

        tray = Tray()
        assert any(line.startswith("Working") for line in tray.lines()), tray.lines()
        window.click("#raise")
        window.sees("Raised: nothing can act")
        until("the tray says raised", lambda: "Raised: nothing can act" in tray.lines())
        window.picture("raised")
        tray.click("Lower the bridge")
        window.sees("Lowered: agents can act")

        window.click("#nav-activity")
        window.call(
            "POST",
            window.session + "/execute/async",
            {"script": "const done = arguments[0]; window.__TAURI_INTERNALS__.invoke('send', {command: {command: 'connect'}}).then(done, done)", "args": []},
        )
        window.sees("Run the command")
        until("deny has the focus", lambda: window.script("return document.activeElement.id") == "prompt-deny")
        window.sees("PAINTED")
        window.picture("prompt")
        window.keys("\ue00c")
        window.sees("Deny")
        until("the question is gone", lambda: "Run the command" not in window.text())

        # Twice the size is half the room: the page must not scroll sideways.
        window.script("document.documentElement.style.zoom = 2")
        assert window.script("return document.documentElement.scrollWidth <= window.innerWidth + 1"), "sideways at 200 %"
        window.picture("zoom-200")
        tray.click("Open Drawbridge")
        tray.click("Quit")
        until("the program has left the bus", lambda: not tray.bus.name_has_owner(tray.name))
    finally:
        window.close()
    print("window and tray: all seen")


main()
