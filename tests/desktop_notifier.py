#!/usr/bin/python3
"""A notification service for tests: writes down what it is asked to show, one JSON line each, to the file given.

`--never-answers` takes every call and answers none. The method `Click` of net.drawbridge.Test plays a person who clicks.
"""
import json
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"


class Service(dbus.service.Object):
    def __init__(self, bus, file, silent):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.file, self.silent, self.count = file, silent, 0

    def note(self, **what):
        print(json.dumps(what), file=self.file, flush=True)

    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u", async_callbacks=("answer", "fail"))
    def Notify(self, app, replaces, icon, heading, body, actions, hints, timeout, answer, fail):
        self.count += 1
        self.note(call="Notify", id=self.count, heading=heading, body=body, actions=list(actions))
        if not self.silent:
            answer(self.count)

    @dbus.service.method(NAME, in_signature="u")
    def CloseNotification(self, number):
        self.note(call="Close", id=int(number))
        self.NotificationClosed(number, 3)

    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self):
        return ["actions", "body"]

    @dbus.service.method(NAME, out_signature="ssss")
    def GetServerInformation(self):
        return "desktop_notifier", "drawbridge", "1", "1.2"

    @dbus.service.signal(NAME, signature="uu")
    def NotificationClosed(self, number, reason):
        pass

    @dbus.service.signal(NAME, signature="us")
    def ActionInvoked(self, number, action):
        pass

    @dbus.service.method("net.drawbridge.Test", in_signature="u")
    def Click(self, number):
        self.ActionInvoked(number, "default")


DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
service = Service(bus, open(sys.argv[1], "w"), "--never-answers" in sys.argv)
print("ready", flush=True)
GLib.MainLoop().run()
