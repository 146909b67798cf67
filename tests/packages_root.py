"""A Debian of its own for tests/packages.py: made once by mmdebstrap, kept as an archive, unpacked for each run.

Everything happens in namespaces of processes and mounts that end with the test, so nothing that it starts or mounts is left,
whichever way it ends.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve()
PASSPHRASE = "a passphrase only for this test"
# What the package only recommends is left out but for what every desktop has: a bus, a font.
BESIDE = ("dbus-daemon", "dbus-bin", "fonts-dejavu-core", "adwaita-icon-theme")
MAKERS = {"debian": "Debian", "ubuntu": "Ubuntu"}
# Logs, caches and locks of the tools that install.
OF_THE_TOOLS = re.compile(
    r"^/(proc|sys|dev|tmp|run)/|^/var/(log|cache|backups)/|^/var/lib/(apt|dpkg/(?!info/)|systemd/deb-systemd-user)"
    r"|/icon-theme\.cache$|/mimeinfo\.cache$"
)


def run(deb, scratch):
    """Goes into the namespaces and does it all there; says so and does nothing where that is not possible."""
    system = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    kind, suite = system.get("ID", "").strip('"'), system.get("VERSION_CODENAME", "").strip('"')
    if kind not in MAKERS:
        return print(f"packages: left out: the part on a clean system is for Debian and Ubuntu, not for {kind}")
    inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        inside += ["--user", "--map-root-user", "--map-auto"]
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return print("packages: left out: the part on a clean system needs root, or user namespaces with subordinate ids (newuidmap)")
    archive = prepared(kind, suite, deb)
    display, server = screen()
    try:
        words = [*inside, sys.executable, HERE, archive, deb, scratch / "root"]
        done = subprocess.run([str(word) for word in words], env=os.environ | {"DISPLAY": display, "PYTHONUNBUFFERED": "1"})
        assert done.returncode == 0, "the part on a clean system failed"
    finally:
        server.terminate()
        server.wait()


def of_the_system(kind, suite):
    """Where this computer gets its own packages from, with the updates that everybody has; not what others added."""
    form = "$(ORIGIN)|$(RELEASE)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    words = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    told = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [line.split("|") for line in told.splitlines()]
    # Without lists nobody knows yet who makes a source: the name of the suite must do.
    unknown = lambda origin, release: origin in ("", "$(ORIGIN)") and release.split("-")[0] == suite
    found = {line for origin, release, line in lines if origin == MAKERS[kind] or unknown(origin, release)}
    assert found, f"this computer has no source of packages of {MAKERS[kind]}"
    return sorted(found)


def prepared(kind, suite, deb):
    """The archive of a system that has what the package depends on. Made anew when that list changes."""
    fields = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], check=True, stdout=subprocess.PIPE, text=True).stdout
    needs = fields.strip().split(", ")
    packages = sorted({need.split(" ")[0] for need in needs} | set(BESIDE))
    sources = of_the_system(kind, suite)
    # With the versions: an old archive may have the library, but too old a one.
    key = hashlib.sha256(json.dumps([sources, sorted(needs), BESIDE]).encode()).hexdigest()[:16]
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "drawbridge"
    archive = folder / f"system-{suite}-{key}.tar"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = archive.with_suffix(f".{os.getpid()}.tar")
        print(f"packages: making a clean {suite}, once", flush=True)
        words = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(packages)}", suite, part, *sources]
        try:
            subprocess.run(words, check=True)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        for old in folder.glob(f"system-*-{'?' * 16}.tar"):
            if old != part:
                old.unlink()
        part.rename(archive)
    return archive


def screen():
    """A display that anybody on this machine may draw on, for the person in the system."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x1000x24", "-nolisten", "tcp", "-ac"],
        pass_fds=[writing], stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as told:
        number = told.readline().strip()
    assert number, "Xvfb did not start"
    return f":{number}", server


def until(what, probe, seconds=60):
    """Waits for a state, not for a time: the limit only ends a broken run."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not seen in {seconds} s: {what}")


class System:
    """The unpacked system: what root does in it, and what the person does."""

    def __init__(self, archive, folder):
        self.root = folder
        folder.mkdir()
        subprocess.run(["tar", "-C", folder, "-xf", archive, "--numeric-owner", "--exclude=./dev/*"], check=True)
        self.mount("-t", "proc", "proc", "proc")
        self.mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "dev")
        for name in ("null", "zero", "full", "random", "urandom"):
            (folder / "dev" / name).touch()
            self.mount("--bind", f"/dev/{name}", f"dev/{name}")
        for name, mode in (("dev/shm", 0o1777), ("tmp", 0o1777), ("run", 0o755)):
            (folder / name).mkdir(exist_ok=True)
            self.mount("-t", "tmpfs", "-o", f"mode={mode:o}", "tmpfs", name)
        (folder / "tmp/.X11-unix").mkdir()
        self.mount("--bind", "/tmp/.X11-unix", "tmp/.X11-unix")
        self.do("useradd", "--create-home", "--uid", "1000", "person")
        runtime = folder / "run/user/1000"
        runtime.mkdir(parents=True, mode=0o700)
        os.chown(runtime, 1000, 1000)
        runtime.chmod(0o700)

    def mount(self, *words):
        *options, place = words
        subprocess.run(["mount", *options, self.root / place], check=True)

    def do(self, *words):
        """What root does; it must work."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}
        done = subprocess.run(
            ["chroot", self.root, *words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def install(self, deb):
        """As a person does, with apt. Everything that it needs is there, so it may ask nobody."""
        shutil.copy(deb, self.root / "tmp/package.deb")
        return self.do("apt-get", "-y", "-o", "APT::Sandbox::User=root", "--no-install-recommends", "install", "/tmp/package.deb")

    def start(self, *words, **more):
        """Starts a program as the person, with the person's session."""
        environment = {
            "PATH": "/usr/bin:/bin:/usr/sbin", "HOME": "/home/person", "USER": "person", "LC_ALL": "C.UTF-8", "DISPLAY": os.environ["DISPLAY"],
            "XDG_RUNTIME_DIR": "/run/user/1000", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus", "NO_COLOR": "1",
            "NO_AT_BRIDGE": "1", "LIBGL_ALWAYS_SOFTWARE": "1", "DRAWBRIDGE_KEYCHAIN_PASSPHRASE": PASSPHRASE, **more.pop("environment", {}),
        }
        command = ["chroot", "--userspec=person:person", self.root, *words]
        return subprocess.Popen(command, env=environment, cwd="/", stdin=subprocess.DEVNULL, text=True, **more)

    def ask(self, *words, **more):
        """What the person's command printed, whatever its exit code."""
        child = self.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        out, err = child.communicate(timeout=60)
        return child.returncode, out, err

    def files(self):
        found = set()
        for folder, _, names in os.walk(self.root):
            for name in names:
                place = "/" + str((pathlib.Path(folder) / name).relative_to(self.root))
                if not OF_THE_TOOLS.search(place):
                    found.add(place)
        return found

    def sum(self, place):
        return hashlib.sha256((self.root / place.lstrip("/")).read_bytes()).hexdigest()


class Desktop:
    """A started drawbridge-desktop, as the person sees it."""

    def __init__(self, system, platform):
        self.system = system
        self.told = system.root / "tmp/desktop.log"
        with open(self.told, "w") as log:
            self.child = system.start("drawbridge-desktop", stdout=log, stderr=log, environment={"DRAWBRIDGE_PLATFORM_URL": platform})
        try:
            until("the engine", lambda: self.status().get("running"))
            until("a window that is painted", self.painted)
        except AssertionError as fault:
            raise AssertionError(f"{fault}\n{self.told.read_text()}") from fault

    def status(self):
        """What the command says of the running one, also when the command is of another version."""
        return json.loads(self.system.ask("drawbridge", "status", "--json")[1] or "{}")

    def painted(self):
        """The application says that its page was painted, there is such a window, and it is not one colour."""
        if "painted" not in self.told.read_text():
            return False
        found = subprocess.run(["xdotool", "search", "--onlyvisible", "--name", "^Drawbridge$"], stdout=subprocess.PIPE, text=True).stdout.split()
        if not found:
            return False
        picture = ["bash", "-c", f"import -silent -window {found[0]} png:- | identify -format %k -"]
        return int(subprocess.run(picture, stdout=subprocess.PIPE, text=True).stdout or 0) > 50

    def program(self):
        """The sum of the very file that runs, which may have been replaced on disk."""
        return hashlib.sha256(pathlib.Path(f"/proc/{self.child.pid}/exe").read_bytes()).hexdigest()

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        assert self.child.wait(timeout=60) == 0, self.told.read_text()


def newer(deb, scratch):
    """The same package with a higher version and other programs: a few bytes behind their end change nothing but their sum."""
    tree = scratch / "newer"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: (.*)$", r"Version: \1+newer", control.read_text(), flags=re.M))
    for name in ("drawbridge", "drawbridge-desktop"):
        with open(tree / "usr/bin" / name, "ab") as program:
            program.write(b"newer")
    made = scratch / "newer.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, made], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return made


def says_yes(platform):
    """The practice platform's page asks nobody from now on."""
    page = urllib.request.urlopen(platform, timeout=60).read().decode()
    headers = {"x-practice-token": re.search(r'name="token" content="([^"]+)"', page).group(1), "Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{platform}/api/practice/consent", b'{"mode":"allow"}', headers), timeout=60).read()


def sign_in(system, platform):
    """By the command, in the way that a person without a browser does it."""
    child = system.start("drawbridge", "auth", "--no-browser", stdout=subprocess.PIPE, environment={"DRAWBRIDGE_PLATFORM_URL": platform})
    page = child.stdout.readline().strip()
    urllib.request.urlopen(page, timeout=60).read()
    child.communicate(timeout=60)
    assert child.returncode == 0, f"auth ended with {child.returncode}"


def scenario(archive, deb, folder):
    system = System(archive, folder)
    before = system.files()

    system.install(deb)
    owned = [line for line in system.do("dpkg", "-L", "drawbridge").splitlines() if not (folder / line.lstrip("/")).is_dir()]
    assert "/usr/bin/drawbridge-desktop" in owned
    assert not system.do("dpkg", "--verify", "drawbridge").strip()
    assert not system.do("ldd", "/usr/bin/drawbridge-desktop", "/usr/bin/drawbridge").count("not found")
    code, out, _ = system.ask("drawbridge", "status", "--json")
    assert code == 3 and json.loads(out)["running"] is False, out

    system.start("dbus-daemon", "--session", "--nofork", "--address=unix:path=/run/user/1000/bus")
    until("the session bus", lambda: (folder / "run/user/1000/bus").exists())
    practice = system.start("drawbridge", "practice", stdout=subprocess.PIPE)
    platform = practice.stdout.readline().strip()
    says_yes(platform)
    sign_in(system, platform)
    desktop = Desktop(system, platform)
    until("the link", lambda: desktop.status().get("connected"))
    print("  installed, signed in, painted and connected", flush=True)

    # Whoever looks after the computer has switched it on for everybody; an upgrade must keep that.
    autostart = folder / "etc/xdg/autostart/drawbridge.desktop"
    autostart.write_text(autostart.read_text().replace("Hidden=true\n", ""))
    old, wanted = desktop.program(), autostart.read_text()
    state = folder / "home/person/.local/state/drawbridge"
    kept = {str(file.relative_to(state)) for file in state.rglob("*") if file.is_file()}
    system.install(newer(deb, folder.parent))
    assert desktop.child.poll() is None and desktop.program() == old != system.sum("/usr/bin/drawbridge-desktop")
    assert desktop.status()["connected"], "the old one goes on, and the new command talks to it"
    assert autostart.read_text() == wanted
    desktop.end()
    desktop = Desktop(system, platform)
    assert desktop.program() == system.sum("/usr/bin/drawbridge-desktop") != old
    until("the link, without another sign-in", lambda: desktop.status().get("connected"))
    assert {name for name in kept if "sock" not in name} <= {str(file.relative_to(state)) for file in state.rglob("*")}
    print("  upgraded while it ran; the new one runs after a restart, still signed in", flush=True)

    system.do("apt-get", "-y", "remove", "drawbridge")
    assert desktop.child.poll() is None, "the package was removed while it ran: it goes on until it is ended"
    assert autostart.exists() and not (folder / "usr/bin/drawbridge").exists()
    desktop.end()
    practice.terminate()
    practice.wait()
    system.do("apt-get", "-y", "purge", "drawbridge")
    left = [place for place in owned if (folder / place.lstrip("/")).exists()]
    assert not left, f"still there: {left}"
    assert (state / "audit.log").exists(), "what the person has stays"
    more = {place for place in system.files() - before if not place.startswith("/home/person/")}
    assert not more, f"left behind: {sorted(more)}"
    assert not before - system.files(), f"taken away: {sorted(before - system.files())}"
    homes = {"/".join(place.split("/")[3:6]) for place in system.files() - before if "/.cache/" not in place}
    print(f"  removed and purged; in the person's home there are {', '.join(sorted(homes))}, and caches", flush=True)


if __name__ == "__main__":
    scenario(*(pathlib.Path(word) for word in sys.argv[1:4]))
