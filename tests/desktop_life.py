#!/usr/bin/python3
"""The life of the windows: tray only, a second start, a page whose process dies, a page that stays blank, a closed question, the bar of
the screen.

The real program, and the fixture where a question is needed at once. Nothing is driven through WebDriver here, since the
program starts itself again; its own log tells what happened. Run it under scripts/desk.sh. DESK_BIN is the folder of the
built programs.
"""
import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading

from desktop_window import Tray, until

PROGRAMS = pathlib.Path(os.environ["DESK_BIN"])
#: The bar that says that the screen is used.
BAR = "^An agent sees and uses this screen$"


class Program:
    """A started program and the lines of its log."""

    def __init__(self, name, *arguments, state=None):
        self.state = state or tempfile.mkdtemp(dir=os.environ["HOME"])
        environment = os.environ | {"DRAWBRIDGE_STATE_DIR": self.state, "DRAWBRIDGE_LOG": "info", "NO_COLOR": "1"}
        command = [str(PROGRAMS / name), *arguments]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self.lines, self.fresh = [], queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stderr:
            self.fresh.put(line)

    def log(self):
        while not self.fresh.empty():
            self.lines.append(self.fresh.get())
        return self.lines

    def said(self, *words):
        return [line for line in self.log() if all(word in line for word in words)]

    def says(self, *words, times=1):
        until(f"{words} {times} times in the log", lambda: len(self.said(*words)) >= times)

    def pages(self):
        """Process ids of the processes that draw its pages, those that have ended apart."""
        children = subprocess.run(["ps", "-o", "pid=,stat=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        rows = [line.split(None, 2) for line in children.stdout.splitlines()]
        return [int(pid) for pid, stat, args in rows if "WebKitWebProcess" in args and not stat.startswith("Z")]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            sys.stderr.writelines(self.log())
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def windows(title):
    found = subprocess.run(["xdotool", "search", "--onlyvisible", "--name", title], capture_output=True, text=True)
    return found.stdout.split()


def close(window):
    subprocess.run(["wmctrl", "-i", "-c", hex(int(window))], check=True)


def press(window, *keys):
    for key in keys:
        subprocess.run(["xdotool", "windowfocus", "--sync", window, "key", "--clearmodifiers", key], check=True)


def place(window):
    shape = subprocess.run(["xdotool", "getwindowgeometry", "--shell", window], capture_output=True, text=True, check=True)
    return {name: int(value) for name, value in (line.split("=") for line in shape.stdout.splitlines())}


def tray_only_and_second_start():
    with Program("drawbridge-desktop", "--hidden") as program:
        tray = Tray()
        until("the menu", lambda: tray.lines())
        status = lambda: subprocess.run([PROGRAMS / "drawbridge", "status", "--json"], env=os.environ | {"DRAWBRIDGE_STATE_DIR": program.state}, capture_output=True, text=True).stdout
        until("the tray is reported", lambda: "shown" in status())
        assert not program.pages() and not windows("^Drawbridge$"), "the tray alone has a page"

        second = Program("drawbridge-desktop", state=program.state)
        assert second.process.wait(timeout=60) == 0, second.log()
        program.says("painted", "main")
        window = until("the window", lambda: windows("^Drawbridge$"))[0]
        close(window)
        until("no page is left", lambda: not program.pages())

        third = Program("drawbridge-desktop", "--hidden", state=program.state)
        assert third.process.wait(timeout=60) == 0, third.log()
        program.says("painted", "main", times=2)
        bad = Program("drawbridge-desktop", "--unknown", state=program.state)
        assert bad.process.wait(timeout=60) == 2
        until("how to use it", lambda: bad.said("Usage:"))


def page_dies():
    with Program("examples/fixture", "--hidden", "--ask=1") as program:
        program.says("painted", "prompt")
        program.says("PAINTED 1")
        for round in range(2):
            for page in program.pages():
                os.kill(page, signal.SIGKILL)
            program.says("painted", "prompt", times=round + 2)
            program.says("PAINTED 1", times=round + 2)
        assert not program.said("starting once more"), program.log()

        # Closing the window denies, and without a question the page's process goes, too.
        close(until("the window for questions", lambda: windows("asks"))[0])
        program.says("ANSWERED 1 Deny")
        until("no page is left", lambda: not program.pages())
        assert program.process.poll() is None


def page_stays_blank():
    with Program("examples/fixture", "--hidden", "--ask=1", "--blank") as program:
        program.says("starting once more with plain drawing")
        program.says("plain drawing: on")
        assert "true" in (pathlib.Path(program.state) / "window.json").read_text().split("plain_drawing", 1)[1][:8]
        # The same process, started again once; then plain dialogs.
        answers_dialog(program, "Deny", "Escape")
        # Then it says what has happened, once.
        close(until("the notice", lambda: windows("cannot draw its window"))[0])
        until("no dialog is left", lambda: not windows("cannot draw its window"))
        assert len(program.said("starting once more")) == 1, program.log()
    # What a person types when it comes must not allow.
    for keys in (["Return"], ["space"], ["Tab", "Tab", "Return"], ["Tab", "Return"]):
        with Program("examples/fixture", "--hidden", "--ask=1", "--blank") as program:
            answers_dialog(program, "Deny", *keys)
    with Program("examples/fixture", "--hidden", "--ask=1", "--blank") as program:
        allows_dialog(program)


def answers_dialog(program, answer, *keys):
    program.says("questions are asked by dialogs")
    press(until("the dialog", lambda: windows("an agent asks"))[0], *keys)
    program.says(f"ANSWERED 1 {answer}")


def allows_dialog(program):
    """Who has read to the end allows with the button of the right corner; what it waits for is for the tests of the guard."""
    program.says("questions are asked by dialogs")
    dialog = until("the dialog", lambda: windows("an agent asks"))[0]
    shape = place(dialog)
    right, bottom = str(shape["WIDTH"] - 40), str(shape["HEIGHT"] - 18)
    click = ["xdotool", "mousemove", "--window", dialog, right, bottom, "click", "1"]

    def allowed():
        # However long the question is: its end is seen.
        press(dialog, "End")
        subprocess.run(click)
        return program.said("ANSWERED 1 AllowOnce")

    until("the answer", allowed)


def page_of_the_bar_dies():
    with Program("examples/fixture", "--hidden", "--screen=use") as program:
        # A plain bar is there before the page is.
        program.says("the pill is shown")
        program.says("painted", "pill")
        for page in program.pages():
            os.kill(page, signal.SIGKILL)
        program.says("painted", "pill", times=2)
        assert len(until("the bar", lambda: windows(BAR))) == 1, "there are two bars"


def page_of_the_bar_stays_blank():
    with Program("examples/fixture", "--hidden", "--screen=use", "--blank") as program:
        program.says("the pill is a plain window")
        bar = until("the bar", lambda: windows(BAR))[0]
        shape = place(bar)
        click = ["xdotool", "mousemove", "--window", bar, str(shape["WIDTH"] - 40), str(shape["HEIGHT"] // 2), "click", "1"]
        subprocess.run(click, check=True)
        program.says("RAISED true")
        until("the bar is gone", lambda: not windows(BAR))
        # Starting again would have taken away what shows the agent.
        assert not program.said("starting once more"), program.log()
        until("no page is left", lambda: not program.pages())


def no_way_to_a_display():
    for named, told in (({}, "There is no display here"), ({"DISPLAY": ":9999"}, "cannot be opened")):
        around = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")} | named
        around["DRAWBRIDGE_STATE_DIR"] = tempfile.mkdtemp(dir=os.environ["HOME"])
        ended = subprocess.run([PROGRAMS / "drawbridge-desktop"], env=around, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 78 and told in ended.stderr and "panicked" not in ended.stderr, (named, ended)


def main():
    no_way_to_a_display()
    tray_only_and_second_start()
    page_dies()
    page_stays_blank()
    page_of_the_bar_dies()
    page_of_the_bar_stays_blank()
    print("the life of the windows: all seen")


main()
