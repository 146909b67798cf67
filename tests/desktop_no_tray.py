#!/usr/bin/python3
"""Without a tray host the window opens, says so, and closing it ends the program. Run it under DESK_TRAY=none scripts/desk.sh."""
import os
import subprocess
import sys

import desktop_window as desktop


def ended(program, close):
    """Closes the window and gives the exit code once the program has ended. A window that was just mapped is not yet one of
    the window manager's, which then passes over the wish to close it."""
    subprocess.run(close, check=False)
    try:
        return [program.wait(timeout=5)]
    except subprocess.TimeoutExpired:
        return None


def main():
    window = desktop.Window(os.environ["DESK_BIN"])
    try:
        window.sees("This desktop shows no tray icons")
        window.picture("no-tray")
    finally:
        window.close()

    program = subprocess.Popen([os.environ["DESK_BIN"]])
    try:
        find = lambda: subprocess.run(["xdotool", "search", "--all", "--onlyvisible", "--pid", str(program.pid), "--name", "^Drawbridge$"], capture_output=True, text=True).stdout.split()
        number = desktop.until("the window", find)[0]
        close = ["wmctrl", "-i", "-c", hex(int(number))]
        code = desktop.until("its end", lambda: ended(program, close))[0]
        if code != 0:
            sys.exit(f"ended with {code}")
    finally:
        if program.poll() is None:
            program.kill()
    print("window without a tray host: all seen")


main()
