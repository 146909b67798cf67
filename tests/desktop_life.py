#!/usr/bin/python3
"""The life of the windows: tray only, a second start, a page whose process dies, a page that stays blank, a closed question.

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


def escape(title):
    dialog = until(title, lambda: windows(title))[0]
    subprocess.run(["xdotool", "windowfocus", "--sync", dialog, "key", "--window", dialog, "Escape"], capture_output=True)


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
        # The same process, started again once; then the system's own dialogs.
        program.says("questions are asked by dialogs")
        escape("an agent asks")
        program.says("ANSWERED 1 Deny")
        # Then it says what has happened, once.
        close(until("the notice", lambda: windows("cannot draw its window"))[0])
        until("no dialog is left", lambda: not windows("cannot draw its window"))
        assert len(program.said("starting once more")) == 1, program.log()


def main():
    tray_only_and_second_start()
    page_dies()
    page_stays_blank()
    print("the life of the windows: all seen")


main()
