#!/usr/bin/python3
"""An agent works in a real editor: it opens it, types, saves with a key chord, and reads the file back.

The real program with its real engine against `drawbridge practice`, a real editor, a real window manager. Run it under
scripts/desk.sh. DESK_BIN is the folder of the built programs. Pictures go to artefacts/.
"""
import base64
import os
import pathlib
import subprocess
import tempfile

from desktop_window import Platform, Window, until

PARAGRAPH = (
    "Dear Zoë, the naïve façade costs 12 € — “très cher”, isn’t it? Größe: 3½ m², Łódź, Žižkov, ñandú.\n"
    "Привет, мир! Γειά σου. 你好 🙂🚀\n"
    "Keys: ~!@#$%^&*()_+{}|:\"<>?`-=[]\\;',./ and a tab\there."
)
CHAT = "letter"


def main():
    programs = pathlib.Path(os.environ["DESK_BIN"])
    home = pathlib.Path(os.environ["HOME"])
    folder = home / "Letters"
    folder.mkdir()
    state = pathlib.Path(tempfile.mkdtemp(dir=home))
    (state / "window.json").write_text('{"first_run": 4}')
    with Platform(programs / "drawbridge") as platform:
        os.environ |= {
            "DRAWBRIDGE_PLATFORM_URL": platform.address,
            "DRAWBRIDGE_STATE_DIR": str(state),
            "BROWSER": "/bin/true",
        }
        window = Window(str(programs / "drawbridge-desktop"))
        try:
            platform.sign_in(window)
            allow(window)
            attach(window, platform, folder)
            write_a_letter(window, platform, folder, home)
            audited(state, home)
        finally:
            window.close()
    print("editor: the letter was written, saved, read back and seen")


def allow(window):
    for power in ("attach", "computer_use", "clipboard"):
        refused = window.invoke("send", {"command": {"command": "set_power", "power": power, "mode": "allowed"}})
        assert refused is None or "code" not in str(refused), (power, refused)


def attach(window, platform, folder):
    machine = platform.machine()
    platform.call("chat", session_id=CHAT)
    platform.call("attach", machine_id=machine, session_id=CHAT, **platform.browse_to(window, machine, folder))
    platform.call("activate", session_id=CHAT)
    platform.offers(machine, "computer_use")


def ask(platform, kind, **payload):
    """Sends one request and returns the payload of its answer."""
    return platform.operate(CHAT, kind, **payload)["payload"]


def shot(platform, name):
    answer = ask(platform, "SCREENSHOT_REQUEST", format="png", include_cursor=False)
    picture = base64.b64decode(answer["image_base64"])
    place = pathlib.Path("artefacts")
    place.mkdir(exist_ok=True)
    (place / f"editor-{name}.png").write_bytes(picture)
    return place / f"editor-{name}.png"


def key(platform, chord):
    ask(platform, "INPUT_ACTION", action="key", key=chord)


def window_of(platform, part):
    """Returns the window whose title holds this, once it is there and has the keyboard."""
    def look():
        found = ask(platform, "WINDOW_LIST_REQUEST")["windows"]
        return next((one for one in found if part in one["title"] and one["is_focused"]), None)
    return until(f"the window {part}", look)


def write_a_letter(window, platform, folder, home):
    launched = ask(platform, "APP_LAUNCH", executable_path="/usr/bin/l3afpad", args=[], activate=True)
    assert launched["ok"] is True, launched
    editor = window_of(platform, "Untitled")
    assert any(app["pid"] == editor["pid"] for app in ask(platform, "APP_LIST_REQUEST")["apps"])
    before = shot(platform, "empty")

    left, top, right, bottom = editor["bounds"]
    middle = [(left + right) // 2, (top + bottom) // 2]
    ask(platform, "INPUT_ACTION", action="left_click", coordinate=middle)
    at = ask(platform, "CURSOR_POSITION_REQUEST")
    assert [at["x"], at["y"]] == middle, at
    ask(platform, "INPUT_ACTION", action="type", text=PARAGRAPH)
    after = shot(platform, "typed")
    # As the person sees it: with the bar, which agents do not.
    subprocess.run(["import", "-window", "root", "artefacts/editor-person.png"], check=True)
    # The picture shows it: within the editor's window, and only there, thousands of pixels are others.
    crop = f"{right - left}x{bottom - top}+{left}+{top}"
    changed = subprocess.run(
        ["compare", "-metric", "AE", "-crop", crop, "+repage", before, after, "null:"], capture_output=True, text=True
    ).stderr.split()
    assert changed and float(changed[0]) > 2000, changed

    key(platform, "ctrl+s")
    window_of(platform, "Save")
    ask(platform, "INPUT_ACTION", action="type", text=str(folder / "letter.txt"))

    def saved():
        # The dialog takes no answer while it still looks at the folder that the name is in.
        if any("Save" in one["title"] for one in ask(platform, "WINDOW_LIST_REQUEST")["windows"]):
            key(platform, "enter")
        return (folder / "letter.txt").exists()

    until("the file", saved)
    window_of(platform, "letter.txt")
    read = ask(platform, "FILE_READ", path="letter.txt")
    assert read["content"].rstrip("\n") == PARAGRAPH, read["content"]

    # The same again by the clipboard: long enough to be pasted, and what the person had copied is there afterwards.
    subprocess.run(["xclip", "-selection", "clipboard"], input="what the person copied", text=True, check=True, stdout=subprocess.DEVNULL)
    key(platform, "ctrl+a")
    long = PARAGRAPH * 3
    ask(platform, "INPUT_ACTION", action="type", text=long, paste=True, preserve_clipboard=True)
    key(platform, "ctrl+s")
    until("the longer file", lambda: ask(platform, "FILE_READ", path="letter.txt")["content"].rstrip("\n") == long)
    kept = subprocess.run(["xclip", "-selection", "clipboard", "-o"], capture_output=True, text=True, timeout=20).stdout
    assert kept == "what the person copied", kept
    shot(platform, "saved")
    window.picture("editor-after")


def audited(state, home):
    lines = [path.read_text() for path in list(state.rglob("audit*.log")) + list(home.rglob("audit*.log"))]
    log = "\n".join(lines)
    for op in (
        "APP_LAUNCH", "APP_LIST_REQUEST", "WINDOW_LIST_REQUEST", "SCREENSHOT_REQUEST", "INPUT_ACTION",
        "CURSOR_POSITION_REQUEST", "FILE_READ",
    ):
        assert f'"{op}"' in log, f"{op} is not in the audit log"
    for part in ("Dear Zo", "naïve", "Привет", "na\\u00efve", "letter.txt\\n", "what the person copied"):
        assert part not in log, f"the audit log holds what was typed: {part}"


if __name__ == "__main__":
    main()
