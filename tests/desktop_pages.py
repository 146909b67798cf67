#!/usr/bin/python3
"""Every page and every question in the real window: light and dark, at 100 % and 200 %, in English and German.

The fixture answers every command, so each state of a page can be had at once. Every state is held against what a page promises:
no sideways scroll, no cut button, a heading in sight, no key without its text, no English in German, no focus on what
allows; and in both themes against axe-core (WCAG 2.1 A and AA, and its best practice). Run it under scripts/desk.sh; DESK_BIN
is the folder of the built programs, the pages must be built. Pictures of all of it go to artefacts/pages/.

It lacks what needs a real engine: see desktop.py and desktop_keyboard.py.
"""
import base64
import itertools
import json
import os
import pathlib
import re
import subprocess
import tempfile

from desktop_window import PICTURES, ROOT, Window, until

AXE = ROOT / "ui/node_modules/axe-core/axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
#: Theme, zoom in percent, language.
LOOKS = [(theme, zoom, language) for zoom, theme, language in itertools.product([100, 200], ["light", "dark"], ["en", "de"])]
#: For parts of a page that is seen in all of them: each theme, size and language, and both themes as axe-core sees them.
SOME = [("light", 100, "en"), ("dark", 100, "en"), ("light", 200, "de"), ("dark", 200, "de")]
#: The smallest window that can be made, and how it opens (src-tauri/src/window.rs).
SMALLEST, USUAL = (420, 420), (1080, 760)
ROWS = 100_000
KINDS = ["command", "attach", "overwrite", "new_file", "shell_text", "long", "odd", "screenshot", "type", "click", "launch", "clipboard", "copy", "model", "private", "release", "serial", "usb"]
END = "\ue010"
ALLOWS = ["prompt-once", "prompt-chat", "prompt-always", "prompt-always-yes"]

TEXTS = """
const fs = require('node:fs');
const read = (tag) => Object.assign({}, ...fs.readdirSync(`ui/src/lib/text/${tag}`).filter((name) => name !== 'index.ts').map((name) => {
  const source = fs.readFileSync(`ui/src/lib/text/${tag}/${name}`, 'utf8');
  return new Function(source.replace(/^export const \\w+ =/m, 'return').replace(/ as const;/, ';'))();
}));
console.log(JSON.stringify({ en: read('en'), de: read('de') }));
"""

# Two frames after nothing moves and nothing is under way, what is measured is what a person sees.
SETTLED = """
const done = arguments[0];
const look = () => {
  const moving = document.getAnimations().some((one) => one.playState === 'running' && !(one.effect?.target?.closest('.bar')));
  if (moving || document.querySelector('[aria-busy="true"]')) requestAnimationFrame(look);
  else requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
};
look();
"""

SEEN = """
const attributes = ['aria-label', 'title', 'placeholder', 'alt', 'aria-description'];
const texts = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) if (!walk.currentNode.parentElement.closest('script, style, option')) texts.push(walk.currentNode.data.trim());
for (const one of document.querySelectorAll('option:not([lang])')) texts.push(one.textContent.trim());
for (const name of attributes) for (const one of document.querySelectorAll(`[${name}]`)) texts.push(one.getAttribute(name));
const inSight = (one) => {
  const box = one.getBoundingClientRect();
  return one.checkVisibility() && box.width > 1 && box.bottom > 0 && box.top < innerHeight && !one.closest('.unseen');
};
const cut = [...document.querySelectorAll('button, h1, h2, h3, select, .tag')].filter((one) => one.checkVisibility() && !one.closest('.unseen') && one.clientWidth > 1 && !(one.tagName === 'SELECT' && innerWidth < 180) && one.scrollWidth > one.clientWidth + 1);
return {
  texts: texts.filter((text) => text),
  width: document.documentElement.scrollWidth, room: innerWidth,
  heading: scrollY > 0 || [...document.querySelectorAll('h1, h2, h3')].some(inSight),
  cut: cut.map((one) => one.outerHTML.slice(0, 200)),
  focus: document.activeElement?.id ?? '',
  // Whatever is shown, and wherever the page stands, the stop can be pressed.
  stop: [...document.querySelectorAll('#raise, #lower')].every((one) => { const box = one.getBoundingClientRect(); return box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth + 1 && one.contains(document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2)); }),
  // A question can be answered without scrolling, whatever its size.
  answers: [...document.querySelectorAll('[data-answers] button')].every((one) => { const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; }),
};
"""


class Texts:
    """What the pages can say, by key, and what must not be seen."""

    def __init__(self):
        answer = subprocess.run(["node", "-e", TEXTS], cwd=ROOT, capture_output=True, text=True, check=True)
        self.__dict__.update(json.loads(answer.stdout))
        stems = sorted({key.split(".")[0] for key in self.en})
        self.key = re.compile(rf"(?<![\w./-])(?:{'|'.join(stems)})(?:\.\w+)+(?![\w/])")
        # What reads like a key: a file of the fixture, and features, which the check-up gives as the platform names them.
        self.files = {"audit.log", "secrets.enc", "app.launch", "app.list", "input.click", "input.key.hold", "screenshot.window", "window.list"}
        self.english = {text for key, text in self.en.items() if text != self.de[key] and text not in self.de.values()}
        german = "\n".join(self.de.values())
        parts = {part.strip() for text in self.english for part in re.split(r"\{\w+\}", text)}
        self.sentences = [part for part in parts if len(part) > 10 and " " in part and part not in german]

    def faults(self, seen, language):
        keys = {found for text in seen for found in self.key.findall(text)} - self.files
        if keys:
            yield f"keys without their text: {sorted(keys)}"
        if language == "de":
            english = {text for text in seen if text.rstrip(":… ") in self.english or any(part in text for part in self.sentences)}
            if english:
                yield f"English in German: {sorted(english)}"


class Visit:
    """Goes through the states of the pages and collects what is wrong, so that one run tells all of it."""

    def __init__(self, window):
        self.window, self.texts, self.faults, self.count = window, Texts(), [], 0
        self.axe = AXE.read_text()
        self.main = window.handles()[0]
        self.prefs = window.invoke("prefs", {})
        self.look = None

    def send(self, **command):
        answer = self.window.invoke("send", {"command": command})
        assert isinstance(answer, dict), (command, answer)
        return answer

    def to(self, handle):
        self.window.call("POST", self.window.session + "/window", {"handle": handle})

    def dress(self, theme, zoom, language, first_run=None):
        """Only the main page may change the looks; every page follows."""
        self.prefs |= {"theme": theme, "zoom": zoom, "language": language}
        if first_run is not None:
            self.prefs["first_run"] = first_run
        assert self.window.invoke("set_prefs", {"prefs": self.prefs}) is None
        self.look = (theme, zoom, language)

    def dressed(self):
        theme, zoom, language = self.look
        now = "return [document.documentElement.dataset.theme, document.documentElement.lang, Math.abs(innerWidth * %d / 100 - outerWidth) <= 4]"
        until(f"the look {self.look}", lambda: self.window.script(now % zoom) == [theme, language, True])

    def state(self, name, handle=None, prepare=None, looks=LOOKS):
        """Looks at what is shown now in every look. `prepare` is done again in each: a resized page loses its place."""
        handle = handle or self.main
        for look in looks:
            self.to(self.main)
            self.dress(*look)
            self.to(handle)
            self.dressed()
            if prepare:
                prepare()
            self.check(name, *look)
        self.to(self.main)
        if handle == self.main:
            self.dress(*LOOKS[0])
            self.dressed()

    def press(self, selector):
        """Clicks what may lie below the head of the page, which stays in its place."""
        self.window.script(f"document.querySelector({selector!r})?.scrollIntoView({{ block: 'center' }})")
        self.window.click(selector)

    def check(self, name, theme, zoom, language):
        where = f"{name}-{theme}-{zoom}-{language}"
        self.count += 1
        self.wait(SETTLED)
        seen = self.window.script(SEEN)
        wrong = list(self.texts.faults(seen["texts"], language))
        if seen["width"] > seen["room"] + 1:
            wrong.append(f"scrolls sideways: {seen['width']} in {seen['room']}")
        if not seen["heading"]:
            wrong.append("no heading in sight")
        if seen["cut"]:
            wrong.append(f"cut: {seen['cut']}")
        if not seen["stop"]:
            wrong.append("the stop is out of sight")
        if not seen["answers"]:
            wrong.append("an answer is out of sight")
        if seen["focus"] in ALLOWS:
            wrong.append(f"the focus is on {seen['focus']}")
        if (zoom, language) == (100, "en"):
            wrong += self.accessible()
        data = self.window.call("GET", self.window.session + "/screenshot")
        (PICTURES / "pages" / f"{where}.png").write_bytes(base64.b64decode(data))
        self.faults += [f"{where}: {fault}" for fault in wrong]

    def wait(self, script, *arguments):
        return self.window.call("POST", self.window.session + "/execute/async", {"script": script, "args": list(arguments)})

    def allowable(self, button):
        """Waits until this can be pressed, which somebody else's double click could not."""
        until(f"{button} can be pressed", lambda: self.window.script(f"return document.querySelector({button!r})?.disabled") is False)

    def can_find(self):
        """The checks find what is wrong: without this, a check that broke would look like a page without a fault."""
        self.window.script("document.body.insertAdjacentHTML('beforeend', '<div id=wrong><img src=x><p>nav.chats</p><p>Raise the bridge</p></div>')")
        found = self.accessible()
        assert any(fault.startswith("image-alt") for fault in found), found
        told = " ".join(self.texts.faults(self.window.script(SEEN)["texts"], "de"))
        assert "nav.chats" in told and "Raise the bridge" in told, told
        self.window.script("document.querySelector('#wrong').remove()")

    def accessible(self):
        if not self.window.script("return 'axe' in window"):
            self.window.script(self.axe + "; window.axe = axe;")
        run = """
        const [tags, done] = arguments;
        axe.run(document, { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] }).then(
          (found) => done(found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => `${node.html.slice(0, 160)} (${node.any.concat(node.all, node.none).map((check) => check.message).join('; ')})`).join(' | ')}`)),
          (fault) => done([String(fault)]),
        );
        """
        return self.wait(run, TAGS)


def first_steps(visit):
    # Four steps, of which the second looks different to somebody who has signed in.
    for step in range(4):
        visit.dress(*LOOKS[0], first_run=step)
        visit.window.sees(visit.texts.en[f"first.{step}"])
        visit.state(f"first-{step}")
    visit.send(command="sign_out")
    visit.dress(*LOOKS[0], first_run=1)
    visit.window.sees(visit.texts.en["first.1.try"])
    visit.state("first-1-signed-out", looks=SOME)
    visit.send(command="paste_redirect", address="done")
    visit.dress(*LOOKS[0], first_run=4)


def pages(visit):
    window = visit.window
    turn = window.turn
    turn("chats")
    visit.state("chats")
    for part, name in [(1, "changes"), (2, "powers"), (3, "privacy")]:
        visit.press(f"main li.card button[aria-expanded]:nth-of-type({part})")
        visit.state(f"chats-{name}", looks=SOME, prepare=lambda: window.script("document.querySelector('main .part')?.scrollIntoView({ block: 'center' })"))
    visit.press("main li.card .actions button:last-child")
    visit.state("chats-forget", looks=SOME, prepare=lambda: window.script("document.querySelector('.confirm').scrollIntoView({ block: 'center' })"))
    visit.press(".confirm button")
    turn("powers")
    visit.state("powers")
    visit.state("powers-commands", looks=SOME, prepare=lambda: window.script("document.querySelector('#power-shell-off').closest('li').scrollIntoView({ block: 'center' })"))
    screen_and_clipboard(visit)
    turn("models")
    models(visit)
    turn("devices")
    devices(visit)
    turn("chats")
    private_chat(visit)
    turn("rules")
    visit.state("rules")
    visit.press("main li.card button[aria-expanded]")
    visit.state("rules-change", looks=SOME, prepare=lambda: window.script("document.querySelector('main form')?.scrollIntoView({ block: 'center' })"))
    turn("links")
    visit.state("links")
    visit.press("#add-account")
    visit.state("links-add", looks=SOME, prepare=lambda: window.script("document.querySelector('#account-name').scrollIntoView({ block: 'start' })"))
    turn("doctor")
    until("the check-up has ended", lambda: window.script("return document.querySelector('#doctor-again')?.disabled === false"), 90)
    visit.state("doctor")
    visit.state("doctor-end", looks=SOME, prepare=lambda: window.script("document.querySelector('main section:last-of-type').scrollIntoView({ block: 'end' })"))
    turn("settings")
    visit.state("settings")
    sections = window.script("return document.querySelectorAll('main section').length")
    for number in range(2, sections + 1):
        visit.state(f"settings-{number}", looks=SOME, prepare=lambda: window.script(f"document.querySelectorAll('main section')[{number - 1}].scrollIntoView({{ block: 'center' }})"))
    visit.press("#secrets-move")
    visit.state("settings-secrets", looks=SOME, prepare=lambda: window.script("document.querySelector('#secrets-title').scrollIntoView()"))


def screen_and_clipboard(visit):
    """Both cards switched on by hand: each warns before it widens, and each list can be filled by the keyboard."""
    window = visit.window
    at = lambda selector, block="center": lambda: window.script(f"document.querySelector({selector!r}).scrollIntoView({{ block: {block!r} }})")
    pressed = lambda button: until(f"{button} is on", lambda: window.script(f"return document.querySelector({button!r})?.ariaPressed") == "true")
    visit.state("powers-screen-off", looks=SOME, prepare=at("#power-computer_use-off", "start"))
    visit.press("#power-computer_use-ask_once_per_chat")
    visit.state("powers-screen-sure", looks=SOME, prepare=at(".confirm"))
    assert window.script("return document.activeElement.textContent") in visit.texts.en["screen.sure.no"]
    visit.press(".confirm button:last-child")
    pressed("#power-computer_use-ask_once_per_chat")
    visit.state("powers-screen", prepare=at("#power-computer_use-off", "start"))
    visit.state("powers-screen-apps", looks=SOME, prepare=at("#screen-never"))
    visit.press("#screen-apps-only")
    pressed("#screen-apps-only")
    visit.state("powers-screen-none", looks=SOME, prepare=at("#screen-only"))
    visit.press("#screen-only")
    window.keys_in("libreoffice\ue007")
    until("the app is listed", lambda: "libreoffice" in (window.script("return document.querySelector('.apps ul')?.textContent") or ""))
    visit.state("powers-screen-only", looks=SOME, prepare=at("#screen-only"))
    visit.press("#power-clipboard-allowed")
    pressed("#power-clipboard-allowed")
    visit.press("#clipboard-foreign")
    visit.state("powers-clipboard-sure", looks=SOME, prepare=at(".confirm"))
    assert window.script("return document.querySelector('#clipboard-foreign').checked") is False
    visit.press(".confirm button:last-child")
    until("also what others copied", lambda: window.script("return document.querySelector('#clipboard-foreign').checked"))
    visit.state("powers-clipboard", looks=SOME, prepare=at("#power-clipboard-off", "start"))


def at(visit, selector, block="center"):
    """Brings a thing into sight, in each look anew."""
    return lambda: visit.window.script(f"document.querySelector({selector!r}).scrollIntoView({{ block: {block!r} }})")


def switched_on(visit, power):
    visit.press(f"#power-{power}-allowed")
    until(f"{power} is on", lambda: visit.window.script(f"return document.querySelector('#power-{power}-allowed')?.ariaPressed") == "true")


def models(visit):
    window, en = visit.window, visit.texts.en
    visit.state("models-off")
    visit.state("models-off-try", looks=SOME, prepare=at(visit, "#trial-why"))
    switched_on(visit, "local_model")
    visit.state("models")
    visit.state("models-servers", looks=SOME, prepare=at(visit, "#servers-title", "start"))
    visit.press("[data-server] [data-key-open]")
    until("the key has the focus", lambda: window.script("return document.activeElement?.dataset.key") == "")
    visit.state("models-key", looks=SOME, prepare=at(visit, "[data-key]"))
    window.keys_in("\ue00c")
    visit.press("#models-find")
    window.sees("http://127.0.0.1:8080")
    visit.state("models-found", looks=SOME, prepare=at(visit, "#models-find"))
    visit.press("#models-add")
    until("the address has the focus", lambda: window.script("return document.activeElement?.id") == "server-address")
    visit.state("models-add", looks=SOME, prepare=at(visit, "#server-address"))
    for wrong, words in [("no address", "This is no address of a server"), ("http://box.example:11434", en["models.far.yes"])]:
        window.script("document.querySelector('#server-address').select()")
        window.keys_in(wrong + "\ue007")
        window.sees(words)
        name = "far" if "://" in wrong else "wrong"
        visit.state(f"models-add-{name}", looks=SOME, prepare=at(visit, "#server-address"))
    assert window.script("return document.activeElement.textContent") in en["models.far.no"]
    visit.press(".confirm button:last-child")
    window.sees("http://box.example:11434")
    visit.press("#trial-text")
    window.keys_in("What is a drawbridge?")
    visit.press("#trial-ask")
    until("the whole answer", lambda: "each one who comes." in (window.script("return document.querySelector('#trial-answer')?.textContent") or ""))
    visit.state("models-answer", looks=SOME, prepare=at(visit, "#trial-answer"))
    visit.press("#privacy-all")
    until("contents stay here", lambda: window.script("return document.querySelector('#privacy-all').checked"))
    visit.state("models-privacy", prepare=at(visit, "#privacy-title", "start"))
    visit.press("#privacy-all")
    visit.state("models-privacy-sure", looks=SOME, prepare=at(visit, ".confirm"))
    assert window.script("return document.activeElement.textContent") in en["privacy.off.no"]
    visit.press(".confirm button:last-child")
    until("contents may go out", lambda: window.script("return !document.querySelector('#privacy-all').checked"))
    visit.state("models-uses", looks=SOME, prepare=at(visit, "#uses-title", "start"))


def devices(visit):
    window, en = visit.window, visit.texts.en
    visit.state("devices-unlooked", looks=SOME)
    visit.press("#devices-look")
    window.sees("/dev/ttyACM0")
    visit.state("devices-off", looks=SOME)
    switched_on(visit, "hardware")
    visit.state("devices")
    for kind in ["serial", "usb", "gpio"]:
        visit.state(f"devices-{kind}", looks=SOME, prepare=at(visit, f"#devices-{kind}", "start"))
    visit.press("#port-add")
    until("the path has the focus", lambda: window.script("return document.activeElement?.id") == "port-path")
    window.keys_in("/etc/passwd\ue007")
    window.sees("no serial port")
    visit.state("devices-port-wrong", looks=SOME, prepare=at(visit, "#port-path"))
    window.script("document.querySelector('#port-path').select()")
    window.keys_in("/dev/pts/7\ue007")
    window.sees(en["devices.added"])
    visit.press("#device-serial-added")
    until("it is shared", lambda: en["devices.shared"] in window.script("return document.querySelector('[data-device=serial-added]').innerText"))
    visit.state("devices-added", looks=SOME, prepare=at(visit, "#devices-serial", "start"))


def private_chat(visit):
    """The first chat turns private by hand; what can still show contents is said, and one press ends it."""
    window = visit.window
    visit.press("main li.card button[aria-expanded]:nth-of-type(3)")
    until("the part about privacy", lambda: window.script("return document.querySelector('[id^=privacy-][id$=-on]') !== null"))
    visit.press("[id^=privacy-][id$=-on]")
    until("what still shows contents", lambda: window.script("return document.querySelector('[data-leaks]') !== null"))
    visit.state("chats-private")
    visit.state("chats-private-asked", looks=SOME, prepare=at(visit, "[data-asked]"))
    visit.press("[id^=privacy-][id$=-off]")
    visit.state("chats-private-sure", looks=SOME, prepare=at(visit, ".confirm"))
    visit.press(".confirm button")
    visit.press("[data-leaks] button")
    until("nothing shows contents any more", lambda: window.script("return document.querySelector('[data-leaks]') === null"))
    visit.press("main li.card button[aria-expanded]:nth-of-type(3)")


def sized(visit, width, height):
    """Makes the window as large as somebody would by its edge."""
    window = visit.window
    title = f"^{re.escape(window.script('return document.title'))}$"
    find = ["xdotool", "search", "--onlyvisible", "--name", title]
    found = until(f"the window {title}", lambda: subprocess.run(find, capture_output=True, text=True).stdout.split())
    subprocess.run(["xdotool", "windowsize", found[-1], str(width), str(height)], check=True, timeout=60)
    until(f"a window of {width} by {height}", lambda: window.script("return [outerWidth, outerHeight]") == [width, height])


def little_room(visit):
    """The smallest window with letters of every size: each page can be turned to, and its end be read."""
    window = visit.window
    sized(visit, *SMALLEST)
    pages = window.script("return [...document.querySelectorAll('#nav-list button')].map((one) => one.id)")
    for page in pages:
        window.push(f"#{page}")
        until(page, lambda: window.script(f"return document.querySelector('#{page}').ariaCurrent") == "page")
        looks = [("light", 50, "en"), ("dark", 100, "de"), ("dark", 200, "en"), ("light", 300, "en"), ("light", 300, "de")]
        visit.state(f"little-{page}", looks=looks, prepare=lambda: window.script("scrollTo(0, document.documentElement.scrollHeight)"))
    # The list opens over the page, takes the focus, and gives it back.
    focus = lambda: window.script("return document.activeElement?.id")
    visit.dress("light", 200, "en")
    visit.dressed()
    window.push("#nav-menu")
    until("the page that is shown has the focus", lambda: focus() == pages[-1])
    visit.state("little-menu", looks=[("light", 200, "en"), ("dark", 300, "de"), ("light", 100, "en")], prepare=lambda: window.script("scrollTo(0, 60)"))
    visit.dress("light", 200, "en")
    visit.dressed()
    window.keys("\ue00c")
    until("the button has it again", lambda: focus() == "nav-menu" and window.script("return document.querySelector('#nav-menu').ariaExpanded") == "false")
    window.push("#nav-menu")
    window.push(f"#{pages[0]}")
    until("the first page", lambda: window.script(f"return document.querySelector('#{pages[0]}').ariaCurrent") == "page" and focus() == "nav-menu")
    visit.send(command="set_raised", raised=True)
    window.sees(visit.texts.en["bridge.lower.short"])
    visit.state("little-raised", looks=[("light", 300, "de"), ("dark", 200, "de")], prepare=lambda: window.script("scrollTo(0, 60)"))
    visit.send(command="set_raised", raised=False)
    sized(visit, *USUAL)


def pill(visit):
    """The bar at the top of the screen, in each of its states. It takes the size of the letters as they come."""
    window = visit.window
    visit.send(command="paste_redirect", address="screen:use")
    handle = until("the pill", lambda: next((handle for handle in window.handles() if handle != visit.main), None))
    for state in ["use", "waits", "first"]:
        visit.send(command="paste_redirect", address=f"screen:{state}")
        visit.state(f"pill-{state}", handle)
    visit.send(command="paste_redirect", address="screen:end")
    until("the pill is gone", lambda: handle not in window.handles())
    visit.dress(*LOOKS[0])
    visit.dressed()


def managed(visit):
    window = visit.window
    visit.window.turn("settings")
    visit.send(command="paste_redirect", address="managed")
    until("what is fixed", lambda: window.script("return document.querySelector('#managed') !== null"))
    visit.state("managed", looks=SOME)
    for page in ["powers", "links"]:
        window.turn(page)
        visit.state(f"managed-{page}", looks=SOME)
    visit.window.turn("models")
    visit.state("managed-models", looks=SOME, prepare=at(visit, "#fixed-privacy"))
    visit.send(command="paste_redirect", address="expired")
    visit.dress(*LOOKS[0])
    window.sees(visit.texts.en["account.expired"])
    visit.state("account-expired", looks=SOME)
    visit.send(command="paste_redirect", address="done")


def gates(visit):
    window = visit.window
    for kind in ["passphrase", "locked", "none", "broken", "other"]:
        visit.send(command="paste_redirect", address=f"gate:{kind}")
        until("the gate", lambda: window.script("return document.querySelector('#gate-quit') !== null"))
        visit.state(f"gate-{kind}", looks=SOME)
        visit.state(f"gate-{kind}-end", looks=SOME, prepare=lambda: window.script("document.querySelector('#gate-quit').scrollIntoView({ block: 'end' })"))
        visit.send(command="gate_retry")
        until("the pages", lambda: window.script("return document.querySelector('#nav-chats') !== null"))


def activity(visit):
    window = visit.window
    visit.window.turn("activity")
    until("rows", lambda: window.script("return document.querySelectorAll('[data-index]').length > 5 && !document.querySelector('[aria-busy=true]')"))
    visit.state("activity")

    def to(index):
        """Scrolls as somebody does who drags the bar; the row must be read and be the right one."""
        part = index / (ROWS - 1)
        window.script(f"const list = document.querySelector('[role=grid]'); list.scrollTop = (list.scrollHeight - list.clientHeight) * {part}; list.scrollIntoView()")
        row = f"return [...document.querySelectorAll('[data-index]')].filter((row) => row.ariaBusy !== 'true').map((row) => [Number(row.dataset.index), row.querySelector('.mono').textContent])"

        def there():
            rows = dict(window.script(row))
            near = [number for number in rows if abs(number - index) < 20]
            assert all(text.endswith(f" {ROWS - number}") for number, text in rows.items()), rows
            return near

        until(f"row {index}", there)

    visit.state("activity-middle", looks=SOME, prepare=lambda: to(ROWS // 2))
    visit.state("activity-end", looks=SOME, prepare=lambda: to(ROWS - 1))
    visit.press("[data-index]")
    until("the record", lambda: window.script("return document.querySelectorAll('dialog dd').length > 0"))
    visit.state("activity-record", looks=SOME)
    visit.press("#record-close")


def account(visit):
    window, en = visit.window, visit.texts.en
    visit.window.turn("links")
    visit.send(command="sign_out")
    visit.dress(*LOOKS[0])
    window.sees(en["bridge.signed_out.more"])
    visit.state("signed-out")
    visit.send(command="sign_in")
    window.sees(en["account.link"])
    visit.state("signing-in", looks=SOME)
    visit.send(command="paste_redirect", address="done")
    visit.window.turn("chats")
    visit.send(command="set_raised", raised=True)
    visit.dress(*LOOKS[0])
    window.sees(en["bridge.lower"])
    visit.state("raised")
    visit.send(command="set_raised", raised=False)


def questions(visit):
    # The window takes its size when it opens, so each size has a question of its own.
    for kind, zoom in itertools.product(KINDS, [100, 200]):
        looks = [look for look in (LOOKS if kind in ["command", "attach"] else SOME) if look[1] == zoom]
        visit.dress(*looks[0])
        visit.dressed()
        visit.send(command="paste_redirect", address=f"ask:{kind}")
        question(visit, kind, looks)
    visit.dress(*LOOKS[0])
    visit.dressed()


def question(visit, kind, looks):
    window = visit.window
    prompt = until("the window for questions", lambda: next((handle for handle in window.handles() if handle != visit.main), None))
    visit.to(prompt)
    # Deny has the focus before allowing is possible, and still has it then.
    until("deny has the focus", lambda: window.script("return document.activeElement?.id") == "prompt-deny")
    can = "return document.querySelector('#prompt-once').disabled ? document.querySelector('.why').innerText : 'can be pressed'"
    until("it can be allowed, or is said to be longer", lambda: window.script(can))
    visit.state(f"prompt-{kind}", prompt, looks=looks)
    visit.to(prompt)
    # The end of what is asked must have been in sight, and one key leads there.
    window.keys(END)
    visit.allowable("#prompt-once")
    if kind == "command":
        window.push("#prompt-always")
        until("back has the focus", lambda: window.script("return document.activeElement?.id") == "prompt-back")
        window.keys(END)
        visit.allowable("#prompt-always-yes")
        visit.state("prompt-always", prompt, looks=[look for look in looks if look in SOME])
        visit.to(prompt)
        window.push("#prompt-back")
        until("deny has the focus", lambda: window.script("return document.activeElement?.id") == "prompt-deny")
    window.push("#prompt-deny")
    until("the question is over", lambda: prompt not in window.handles())
    visit.to(visit.main)


def nothing_left(visit):
    """What somebody sees before there is anything: done last, since the script of the fixture does not bring it back."""
    window = visit.window
    snapshot = window.invoke("snapshot", {})
    for rule in snapshot["rules"]:
        visit.send(command="remove_rule", id=rule["id"])
    for chat in snapshot["chats"]:
        visit.send(command="forget", session_id=chat["session_id"])
    visit.dress(*LOOKS[0])
    visit.window.turn("chats")
    window.sees(visit.texts.en["chats.empty"])
    visit.state("chats-none", looks=SOME)
    visit.window.turn("rules")
    window.sees(visit.texts.en["rules.empty"])
    visit.state("rules-none", looks=SOME)
    visit.window.turn("models")
    for server in snapshot["models"]["servers"]:
        visit.send(command="remove_model_server", url=server["url"])
    window.sees(visit.texts.en["models.none"])
    visit.state("models-none", looks=SOME)


def main():
    (PICTURES / "pages").mkdir(parents=True, exist_ok=True)
    os.environ["DRAWBRIDGE_STATE_DIR"] = tempfile.mkdtemp(dir=os.environ["HOME"])
    window = Window(str(pathlib.Path(os.environ["DESK_BIN"]) / "examples/fixture"))
    try:
        until("the page", lambda: window.script("return document.querySelector('main:not(.opening)') !== null"))
        visit = Visit(window)
        visit.can_find()
        for part in [first_steps, pages, activity, account, questions, little_room, pill, gates, managed, nothing_left]:
            part(visit)
        assert not visit.faults, "\n".join(visit.faults)
        print(f"{visit.count} states of the pages: all as promised")
    finally:
        window.close()


main()
