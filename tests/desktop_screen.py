#!/usr/bin/python3
"""An agent uses the screen, and the person always sees it and can stop it: the bar with Stop, the tray, the counts.

The real program with its real engine against `drawbridge practice`, a real editor, a real window manager. The pointer of
`xdotool` is the person's hand here. Run it under scripts/desk.sh. DESK_BIN is the folder of the built programs. Pictures go to
artefacts/.
"""
import base64
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

from desktop_window import PICTURES, Platform, Tray, Window, until

CHAT = "screen"
TITLE = "An agent sees and uses this screen"
PROPERTIES = "org.freedesktop.DBus.Properties"
#: Of the Stop button, as red, green and blue: only the bar has it.
STOP_RED = (0xB0, 0x22, 0x2D)
#: Behind the bar, so that a hole in the cover would be seen.
GROUND = "#206020"


def main():
    programs = pathlib.Path(os.environ["DESK_BIN"])
    home = pathlib.Path(os.environ["HOME"])
    folder = home / "Screen"
    folder.mkdir()
    state = pathlib.Path(tempfile.mkdtemp(dir=home))
    (state / "window.json").write_text('{"first_run": 4, "language": "en", "theme": "light"}')
    PICTURES.mkdir(exist_ok=True)
    subprocess.run(["xsetroot", "-solid", GROUND], check=False)
    with Platform(programs / "drawbridge") as platform:
        os.environ |= {"DRAWBRIDGE_PLATFORM_URL": platform.address, "DRAWBRIDGE_STATE_DIR": str(state), "BROWSER": "/bin/true"}
        window = Window(str(programs / "drawbridge-desktop"))
        editor = subprocess.Popen(["l3afpad"])
        try:
            platform.sign_in(window)
            window.invoke("send", {"command": {"command": "set_power", "power": "attach", "mode": "allowed"}})
            attach(window, platform, folder)
            story(window, platform, Tray(), editor)
        finally:
            editor.terminate()
            editor.wait(timeout=20)
            window.close()
    print("screen: seen, counted and stopped")


def attach(window, platform, folder):
    machine = platform.machine()
    platform.call("chat", session_id=CHAT)
    platform.call("attach", machine_id=machine, session_id=CHAT, **platform.browse_to(window, machine, folder))
    platform.call("activate", session_id=CHAT)
    # By hand: the warning comes before the power does.
    window.turn("powers")
    window.push("#power-computer_use-allowed")
    window.sees("send, buy and delete")
    assert not on(window), "the power is on before anybody confirmed it"
    window.push(".confirm button:last-child")
    until("the power is on", lambda: on(window))
    window.sees("Pictures of the screen")
    window.picture("screen-powers")
    platform.offers(machine, "computer_use")


def on(window):
    return window.script("return document.querySelector('#power-computer_use-allowed')?.ariaPressed") == "true"


def story(window, platform, tray, editor):
    box = until("the editor", lambda: seen(f"--pid {editor.pid}"))[-1]
    # The main window must not lie below the bar: its own pixels are covered anyway.
    run("xdotool", "search", "--onlyvisible", "--name", "^Drawbridge$", "windowminimize")
    run("xdotool", "windowactivate", "--sync", box)
    run("xdotool", "windowsize", box, "500", "400", "windowmove", box, "60", "300")
    until("the editor has the keyboard", lambda: focused() == box)
    assert not bars()
    calm = pixels(tray)

    began = time.monotonic()
    look(platform)
    bar = until("the bar", bars)[0]
    print(f"the bar was seen {1000 * (time.monotonic() - began):.0f} ms after the picture was asked for")
    assert focused() == box, "the bar took the keyboard"
    assert "Client accepts input or input focus: False" in out("xprop", "-id", bar, "WM_HINTS")
    until("the tray counts", lambda: "An agent uses your screen: 1 picture, 0 acts" in tray.lines())
    assert "Stop: raise the bridge now" in tray.lines()
    until("the icon shows it", lambda: pixels(tray) != calm)
    told(window, "1 picture, 0 acts")

    never_in_a_picture(platform)
    acts(window, platform, tray, box)
    waits(window, platform, tray)
    keeps_its_hands_off(platform, tray)
    stops(platform, tray, stuck=False)
    lowers(platform, tray)
    stops(platform, tray, stuck=True)
    lowers(platform, tray)
    goes_by_itself(window, platform, tray, calm)


def told(window, words):
    """The page of the bar says this."""
    def says():
        for handle in window.handles():
            if window.is_at(handle, "pill.html"):
                return words in (window.text() or "")
        return False

    until(f"the bar says {words!r}", says)
    window.to("index.html")


def never_in_a_picture(platform):
    # The bar is really there now, for whoever sits here.
    until("the red of Stop on the screen", lambda: reds(screen_of_a_person("screen-bar")) > 500)
    picture = look(platform, "screen-agent")
    assert reds(picture) == 0, "the agent sees the bar"
    left, top, width, height = place(bars()[0])
    behind = subprocess.run(
        ["convert", str(picture), "-crop", f"{width - 80}x{height - 8}+{left + 40}+{top + 4}", "+repage", "-unique-colors", "-depth", "8", "txt:-"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()[1:]
    assert len(behind) <= 4, f"what lies at the bar is not covered evenly: {behind[:6]}"


def acts(window, platform, tray, box):
    left, top, width, height = place(box)
    ask(platform, "INPUT_ACTION", action="left_click", coordinate=[left + width // 2, top + height // 2])
    ask(platform, "INPUT_ACTION", action="type", text="hello")
    until("acts are counted", lambda: any(re.match(r"An agent uses your screen: \d pictures, 2 acts$", line) for line in tray.lines()))
    assert focused() == box
    told(window, "2 acts")


def waits(window, platform, tray):
    """The person's own hand comes first: the agent waits a little, then is told why nothing was done."""
    with hand_at_the_mouse():
        until("the tray says so", lambda: any("it waits while you use" in line for line in tray.lines()))
        told(window, "waits while you use the mouse or keyboard")
        screen_of_a_person("screen-waits")
        try:
            ask(platform, "INPUT_ACTION", action="left_click", coordinate=[300, 500])
            raise AssertionError("the agent clicked while the person used the mouse")
        except RuntimeError as fault:
            assert "PERMISSION_PENDING" in str(fault) and "person_active" in str(fault), fault
    until("the agent may go on", lambda: not any("it waits" in line for line in tray.lines()))


@contextlib.contextmanager
def hand_at_the_mouse():
    """Within, somebody moves the mouse to and fro."""
    over = threading.Event()

    def move():
        number = 0
        while not over.wait(0.1):
            number += 1
            # Really moved: the other form of it only sets the pointer elsewhere, which no hand can do.
            run("xdotool", "mousemove_relative", "--", "9" if number % 2 else "-9", "0")

    mover = threading.Thread(target=move)
    mover.start()
    try:
        yield
    finally:
        over.set()
        mover.join()


def keeps_its_hands_off(platform, tray):
    """The agent cannot press what would stop it, nor cover it."""
    left, top, width, height = place(bars()[0])

    def refused():
        try:
            ask(platform, "INPUT_ACTION", action="left_click", coordinate=[left + width - 50, top + height // 2])
        except RuntimeError as fault:
            # The hand of before may still count for a moment.
            return "person_active" not in str(fault) and "CAPABILITY_NOT_GRANTED" in str(fault)
        raise AssertionError("the agent touched the bar")

    until("the bar is refused to the agent", refused)
    assert "Raised: nothing can act" not in tray.lines()


def stops(platform, tray, stuck):
    bar = until("the bar", bars)[0]
    pages = web_processes() if stuck else []
    for page in pages:
        os.kill(page, signal.SIGSTOP)
    try:
        left, top, width, height = place(bar)
        run("xdotool", "mousemove", str(left + width - 50), str(top + height // 2), "click", "1")
        until("everything is stopped", lambda: "Raised: nothing can act" in tray.lines())
    finally:
        for page in pages:
            os.kill(page, signal.SIGCONT)
    assert "Stop: raise the bridge now" not in tray.lines()
    if not stuck:
        screen_of_a_person("screen-stopped")
    try:
        platform.ask("operate", {"session_id": CHAT, "type": "SCREENSHOT_REQUEST", "payload": {}, "limit_ms": 5000})
        raise AssertionError("a picture was taken though everything is stopped")
    except RuntimeError:
        pass
    until("the bar is gone", lambda: not bars())


def lowers(platform, tray):
    tray.click("Lower the bridge")
    until("the link is back", lambda: "Connected and idle" in tray.lines())
    platform.call("activate", session_id=CHAT)
    until("the screen is offered again", lambda: any("computer_use" in str(link["granted"]) and CHAT in str(link["scope"]) for link in platform.links()))
    look(platform)
    until("the bar", bars)


def goes_by_itself(window, platform, tray, calm):
    look(platform)
    until("the bar", bars)
    until("its page", lambda: len(window.handles()) > 1)
    before = len(web_processes())
    until("the bar goes some time after the last act", lambda: not bars(), 60)
    until("its page is gone, too", lambda: len(window.handles()) == 1 and len(web_processes()) <= before)
    until("the tray is as before", lambda: pixels(tray) == calm and not any("uses your screen" in line for line in tray.lines()))


def ask(platform, kind, **payload):
    return platform.operate(CHAT, kind, **payload)["payload"]


def look(platform, name="screen-look"):
    """Takes a picture as an agent does. Ten a minute are allowed; the eleventh waits."""
    end = time.monotonic() + 70
    while True:
        try:
            answer = ask(platform, "SCREENSHOT_REQUEST", format="png", include_cursor=False)
            break
        except RuntimeError as fault:
            if "SHIM_OVERLOADED" not in str(fault) or time.monotonic() > end:
                raise
    file = PICTURES / f"{name}.png"
    file.write_bytes(base64.b64decode(answer["image_base64"]))
    return file


def screen_of_a_person(name):
    file = PICTURES / f"{name}.png"
    run("import", "-window", "root", str(file))
    return file


def reds(picture):
    """Pixels of the colour that only Stop has."""
    colour = "rgb({},{},{})".format(*STOP_RED)
    counted = out("convert", str(picture), "-fill", "black", "+opaque", colour, "-fill", "white", "-opaque", colour, "-format", "%[fx:round(mean*w*h)]", "info:")
    return int(float(counted or 0))


def bars():
    return seen(f"--name ^{TITLE}$")


def seen(what):
    return out("xdotool", "search", "--onlyvisible", *what.split(" ", 1)).split()


def focused():
    return out("xdotool", "getwindowfocus").strip()


def place(window):
    shape = dict(line.split("=") for line in out("xdotool", "getwindowgeometry", "--shell", window).splitlines())
    return [int(shape[name]) for name in ("X", "Y", "WIDTH", "HEIGHT")]


def web_processes():
    """Processes that draw pages on this desktop alone."""
    rows = [line.split(None, 2) for line in out("ps", "-eo", "pid=,stat=,args=").splitlines()]
    ours = os.environ["DISPLAY"]
    found = [int(pid) for pid, stat, args in rows if "WebKitWebProcess" in args and not stat.startswith("Z")]
    return [pid for pid in found if f"DISPLAY={ours}\0" in environment(pid)]


def environment(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_text()
    except OSError:
        return ""


def pixels(tray):
    item = tray.bus.get_object(tray.name, "/StatusNotifierItem", introspect=False)
    icons = item.Get("org.kde.StatusNotifierItem", "IconPixmap", dbus_interface=PROPERTIES)
    return [bytes(data) for _, _, data in icons]


def run(*command):
    subprocess.run(command, check=True, timeout=30, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def out(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout


if __name__ == "__main__":
    main()
