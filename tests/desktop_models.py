#!/usr/bin/python3
"""Models, privacy and devices, seen from the chair: a model of the person's own answers them and an agent, a private file is asked
about and never leaves, and a serial port is shared.

The real program with its real engine against `drawbridge practice`, a model server that speaks Ollama's interface, and a real
pair of pseudo-terminals. The window is used by hand. Run it under scripts/desk.sh. DESK_BIN is the folder of the built programs.
Pictures go to artefacts/.
"""
import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import urllib.request

from desktop_window import PICTURES, Platform, Window, until

CHAT = "salaries"
MODEL = "desk-test:1b"
#: In the private file alone. The model never repeats it.
SECRET = "Ada-earns-90125-a-year"
TRY = "What is a drawbridge?"
PIECES = ["A bridge ", "that can ", "be raised."]
ABOUT_FILE = "The file has two rows."


class Server(http.server.ThreadingHTTPServer):
    """Speaks as much of Ollama's interface as is asked. An answer is held after its first piece until it is let go."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths, self.prompts = [], []
        self.held, self.holding, self.hung_up = threading.Event(), False, threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.paths.append(self.path)
        known = {"/api/version": {"version": "0.5.7"}, "/api/tags": {"models": [{"name": MODEL, "model": MODEL, "size": 1_234_567_890}]}}
        self.answer(known.get(self.path))

    def do_POST(self):
        self.server.paths.append(self.path)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            self.answer({"model_info": {"general.architecture": "llama", "llama.context_length": 8192}})
        elif self.path == "/api/chat":
            self.chat(asked)
        else:
            self.answer(None)

    def answer(self, value):
        body = json.dumps(value or {"error": "not found"}).encode()
        self.send_response(200 if value else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chat(self, asked):
        prompt = " ".join(message["content"] for message in asked["messages"])
        self.server.prompts.append(prompt)
        pieces = [ABOUT_FILE] if SECRET in prompt else PIECES
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        try:
            for number, piece in enumerate(pieces):
                self.line(message={"role": "assistant", "content": piece}, done=False)
                if number == 0 and self.server.holding:
                    self.server.held.wait(60)
            self.line(message={"role": "assistant", "content": ""}, done=True, done_reason="stop", prompt_eval_count=12, eval_count=7)
        except ConnectionError:
            # Whoever asked has hung up.
            self.server.hung_up.set()

    def line(self, **more):
        self.wfile.write(json.dumps({"model": MODEL, "created_at": "2026-01-01T00:00:00Z"} | more).encode() + b"\n")
        self.wfile.flush()

    def log_message(self, *_):
        pass


def main():
    programs = pathlib.Path(os.environ["DESK_BIN"])
    home = pathlib.Path(os.environ["HOME"])
    folder = home / "Salaries"
    folder.mkdir()
    (folder / "salaries.csv").write_text(f"name,pay\n{SECRET}\n")
    state = pathlib.Path(tempfile.mkdtemp(dir=home))
    (state / "window.json").write_text('{"first_run": 4, "language": "en", "theme": "light"}')
    PICTURES.mkdir(exist_ok=True)
    server = Server()
    with Platform(programs / "drawbridge") as platform:
        os.environ |= {
            "DRAWBRIDGE_PLATFORM_URL": platform.address, "DRAWBRIDGE_STATE_DIR": str(state), "DRAWBRIDGE_OLLAMA_URL": server.url,
            "BROWSER": "/bin/true",
        }
        window = Window(str(programs / "drawbridge-desktop"))
        try:
            platform.sign_in(window)
            window.invoke("send", {"command": {"command": "set_power", "power": "attach", "mode": "allowed"}})
            machine = platform.machine()
            platform.call("chat", session_id=CHAT)
            platform.call("attach", machine_id=machine, session_id=CHAT, **platform.browse_to(window, machine, folder))
            platform.call("activate", session_id=CHAT)
            wakes(window, server)
            tries(window, server)
            an_agent_asks(window, platform, machine)
            a_private_file(window, platform, server)
            in_the_console(window, platform, server)
            nothing_left(platform, state)
            a_port(window, programs / "drawbridge")
        finally:
            window.close()
            server.shutdown()
    print("models, privacy and devices: asked, kept and shared")


def press(window, selector):
    """Clicks what may lie below the head of the page, which stays in its place."""
    until(selector, lambda: window.script(f"document.querySelector({selector!r})?.scrollIntoView({{ block: 'center' }}); return document.querySelector({selector!r}) !== null"))
    window.click(selector)


def wakes(window, server):
    """Nobody asks the server before the person switches the power on; then its models are there."""
    window.turn("models")
    window.sees("The power is off, so nobody asks or looks for servers.")
    window.sees("Asleep")
    assert server.paths == [], f"asked while the power is off: {server.paths}"
    assert window.script("return document.querySelector('#trial-ask').disabled")
    press(window, "#power-local_model-allowed")
    window.sees("Answers")
    window.sees(MODEL)
    window.sees("1.1 GiB")
    window.picture("models")


def tries(window, server):
    """The answer is seen as it comes, and its end."""
    server.holding = True
    press(window, "#trial-text")
    window.keys_in(TRY)
    press(window, "#trial-ask")
    answer = lambda: window.script("return document.querySelector('#trial-answer')?.textContent") or ""
    until("the first piece alone", lambda: answer() == PIECES[0])
    window.sees("The model is answering…")
    window.picture("models-answering")
    server.held.set()
    until("the whole answer", lambda: answer() == "".join(PIECES))
    window.sees("7 tokens")
    assert server.prompts == [TRY], server.prompts
    # Once more, and stopped in the middle.
    server.held.clear()
    press(window, "#trial-ask")
    until("the first piece alone", lambda: answer() == PIECES[0])
    press(window, "#trial-stop")
    window.sees("Stopped after")
    server.held.set()
    assert server.hung_up.wait(30), "a stopped try goes on at the server"
    server.holding = False
    window.sees("Your own tries")


def an_agent_asks(window, platform, machine):
    platform.offers(machine, "local_llm")
    parts, end = streamed(platform, "LOCAL_LLM_COMPLETION", model=MODEL, messages=[{"role": "user", "content": "Hello"}], stream=True)
    assert "".join(parts) == "".join(PIECES), (parts, end)
    uses = "return document.querySelector('[aria-labelledby=uses-title]')?.innerText ?? ''"
    until("the use by the chat", lambda: "Salaries" in window.script(uses))
    window.picture("models-uses")


def streamed(platform, kind, **payload):
    """Asks as an agent does and collects what came in between."""
    body = json.dumps({"session_id": CHAT, "type": kind, "payload": payload, "limit_ms": 60000}).encode()
    headers = {"x-practice-token": platform.token, "Content-Type": "application/json"}
    parts, end = [], None
    with urllib.request.urlopen(urllib.request.Request(f"{platform.address}/api/practice/ask", body, headers), timeout=90) as answer:
        for line in answer:
            told = json.loads(line)
            assert "failure" not in told, told
            if "part" in told:
                parts += [delta for delta in deltas(told["part"]) if delta]
            else:
                end = told["end"]
    assert end is not None, parts
    return parts, end


def deltas(value):
    """Every delta in a part, wherever it is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "delta":
                yield inner
            else:
                yield from deltas(inner)


def a_private_file(window, platform, server):
    """Switched on by hand for this chat: contents are refused, the file is asked about, the person reads the answer first."""
    window.turn("models")
    review = "return document.querySelector('#privacy-review').checked"
    if not window.script(review):
        press(window, "#privacy-review")
    until("answers are read first", lambda: window.script(review))
    window.turn("chats")
    press(window, "main li.card button[aria-expanded]:last-of-type")
    press(window, f"#privacy-{CHAT}-on")
    until("the chat is private", lambda: window.script(f"return document.querySelector('#privacy-{CHAT}-on').ariaPressed") == "true")
    try:
        platform.operate(CHAT, "FILE_READ", path="salaries.csv")
        raise AssertionError("a private file was read")
    except RuntimeError as refused:
        assert "PRIVACY_MODE_BLOCKED" in str(refused), refused
    stub = platform.operate(CHAT, "FILE_READ", path="salaries.csv", mode="stub")["payload"]
    assert "content" not in stub and stub["stub_id"].startswith("stub_"), stub
    asked = platform.later("operate", session_id=CHAT, type="LOCAL_LLM_TURN", payload={"model": MODEL, "task": "Count the rows.", "stub_refs": [stub["stub_id"]]}, limit_ms=60000)
    with window.prompt():
        window.sees(ABOUT_FILE)
        window.picture("models-review")
    window.allow_once()
    assert ABOUT_FILE in str(asked.result(timeout=90))
    assert any(SECRET in prompt for prompt in server.prompts), "the model did not get the file"
    row = "return document.querySelector('[data-asked]')?.innerText ?? ''"
    until("the file that was asked about", lambda: "salaries.csv" in window.script(row) and "1 question" in window.script(row))
    window.picture("chats-private")


@contextlib.contextmanager
def console(platform):
    """The page of the practice platform, in a browser as a person has one, at what it offers for models."""
    browser = next(pathlib.Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser"))
    page = Window(str(browser), ["--automation"])
    try:
        page.call("POST", page.session + "/url", {"url": platform.address})
        press(page, "#tab-models")
        page.sees("This computer offers 1 model.")
        yield page
    finally:
        page.close()


def in_the_console(window, platform, server):
    """Whoever plays the agent sees an answer grow, and has a private file answered about."""
    with console(platform) as page:
        said = lambda where: page.script(f"return document.querySelector('{where} pre')?.textContent")
        server.held.clear()
        server.holding = True
        press(page, "#asking button.main")
        until("the first part alone", lambda: said("#said-model") == PIECES[0])
        server.held.set()
        until("the whole answer", lambda: said("#said-model") == "".join(PIECES))
        page.sees("It came in ")
        server.holding = False
        press(page, "#private-path")
        page.keys_in("salaries.csv")
        press(page, "#read-plainly")
        page.sees("The contents of files stay on that computer in this chat.")
        press(page, "#stubbing button")
        page.sees("Nothing of what is in it has left the computer.")
        press(page, "#turning button.main")
        window.allow_once()
        until("the answer about the file", lambda: said("#said-turn") == ABOUT_FILE)


def nothing_left(platform, state):
    """The bytes of the file are in no frame and in nothing that the program wrote."""
    assert SECRET not in json.dumps(platform.ask("state")), "the file crossed the wire"
    for file in state.rglob("*"):
        if file.is_file() and not file.is_socket():
            kept = file.read_bytes()
            assert SECRET.encode() not in kept, f"the file is in {file}"
            assert file.name != "audit.log" or (ABOUT_FILE.encode() not in kept and b"Count the rows" not in kept), "the audit log holds what was said"


def a_port(window, cli):
    """One end of a pair of pseudo-terminals is added by its path and shared by its switch."""
    near, far = (pathlib.Path(os.environ["HOME"]) / name for name in ("near", "far"))
    pair = subprocess.Popen(["socat", f"pty,raw,echo=0,link={near}", f"pty,raw,echo=0,link={far}"])
    try:
        until("the pair", lambda: near.exists() and far.exists())
        port = str(near.resolve())
        window.turn("devices")
        window.sees("While the power is off")
        press(window, "#port-add")
        until("the path has the focus", lambda: window.script("return document.activeElement?.id") == "port-path")
        window.keys_in("/etc/passwd\ue007")
        until("why that is none", lambda: window.script("return document.querySelector('#port-wrong')?.textContent"))
        window.script("document.querySelector('#port-path').select()")
        window.keys_in(port + "\ue007")
        window.sees(f"{port} was added.")
        press(window, "#power-hardware-allowed")
        row = f"[...document.querySelectorAll('[data-device]')].find((one) => one.innerText.includes({port!r}))"
        until("the port", lambda: window.script(f"return Boolean({row})"))
        window.script(f"{row}.querySelector('input').scrollIntoView({{ block: 'center' }}); {row}.querySelector('input').click()")
        until("it is shared", lambda: window.script(f"return {row}.querySelector('input').checked && {row}.innerText.split('\\n').includes('Shared')"))
        window.picture("devices")
        listed = subprocess.run([cli, "devices", "--json"], capture_output=True, text=True, timeout=60)
        assert listed.returncode == 0, listed.stderr
        shared = [device for device in map(json.loads, listed.stdout.splitlines()) if device["shared"]]
        assert [device["place"] for device in shared] == [port], listed.stdout
    finally:
        pair.terminate()
        pair.wait(timeout=20)
    until("its end is noticed", lambda: "Not here now" in window.script("return document.body.innerText"), 60)


main()
