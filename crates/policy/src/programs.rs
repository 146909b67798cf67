//! Which programs a command really means. Looking them up is I/O, so whoever decides is told.

use drawbridge_core::{CommandLine, CommandOp, ShellKind};

use crate::segments::{Segment, segments};

/// Shells whose grammar the parser of segments knows, by their program's own name. Not zsh: it reads a start file of the
/// system whatever it is told.
const KNOWN_SHELLS: [&str; 2] = ["sh", "bash"];

/// Names of programs that run other programs named in their words, or a program text in them. Version numbers at the end of
/// a name do not count: `python3.12` is `python`.
#[rustfmt::skip]
const RUNNERS: &[&str] = &[
    // Shells and interpreters.
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "yash", "nu", "elvish", "xonsh",
    "pwsh", "powershell", "cmd", "python", "pythonw", "pypy", "ipython", "perl", "raku", "ruby", "irb", "node", "nodejs",
    "deno", "bun", "lua", "luajit", "php", "tclsh", "wish", "expect", "rscript", "r", "julia", "guile", "racket", "sbcl",
    "clisp", "emacs", "ghci", "runghc", "runhaskell", "scala", "groovy", "jshell", "java", "dotnet", "mono", "erl",
    "elixir", "iex", "osascript", "awk", "gawk", "mawk", "nawk", "sed", "gsed", "bc", "m", "gnuplot", "octave", "matlab",
    "tsx", "ts-node", "swift",
    // Programs that start another one.
    "env", "sudo", "su", "doas", "pkexec", "runuser", "xargs", "parallel", "nice", "ionice", "chrt", "taskset",
    "numactl", "nohup", "setsid", "setarch", "linux", "timeout", "time", "stdbuf", "unbuffer", "script", "watch",
    "entr", "flock", "chroot", "unshare", "nsenter", "setpriv", "capsh", "bwrap", "firejail", "fakeroot", "proot",
    "systemd-run", "systemd-nspawn", "systemctl", "launchctl", "at", "batch", "crontab", "busybox", "toybox", "coreutils",
    "ld.so", "ld-linux", "ld-musl", "strace", "ltrace", "gdb", "lldb", "perf", "valgrind", "rr", "start-stop-daemon",
    "dbus-run-session", "xvfb-run", "wine", "open", "xdg-open", "gio", "tmux", "screen", "xterm", "run-parts", "find",
    "fd", "fdfind", "rg", "ssh", "scp", "sftp", "rsync", "sshpass", "mosh", "socat", "nc", "ncat", "netcat", "git", "hg",
    "svn", "jj", "tar", "bsdtar", "zip", "cpio", "sort", "split", "man", "less", "more", "vi", "vim", "nvim", "view",
    "ex", "ed", "nano", "sqlite", "psql", "mysql", "mariadb", "openssl", "tcpdump", "gpg", "gcc", "g++", "cc", "c++",
    "clang", "clang++", "ld", "tex", "latex", "pdftex", "pdflatex", "xelatex", "lualatex", "ctest",
    // Builders, package managers and test runners.
    "make", "gmake", "bmake", "cmake", "ninja", "meson", "bazel", "buck", "just", "task", "rake", "scons", "gradle",
    "gradlew", "mvn", "mvnw", "ant", "sbt", "lein", "cargo", "rustup", "rustc", "go", "zig", "npm", "npx", "pnpm",
    "pnpx", "yarn", "corepack", "pip", "pipx", "uv", "uvx", "poetry", "pdm", "hatch", "tox", "nox", "conda", "mamba",
    "pytest", "jest", "vitest", "mocha", "gem", "bundle", "bundler", "composer", "cabal", "stack", "mix", "rebar",
    "nix", "nix-shell", "nix-build", "guix", "brew", "apt", "apt-get", "dpkg", "dnf", "yum", "rpm", "pacman", "snap",
    "flatpak", "docker", "podman", "nerdctl", "buildah", "kubectl", "helm", "vagrant", "ansible", "ansible-playbook",
    "prlimit", "choom", "uclampset", "ssh-agent", "sg", "newgrp", "install", "i386", "x86_64", "uname26", "editor", "pager",
    "sensible-editor", "sensible-pager", "sensible-browser", "select-editor", "xdotool", "dbus-launch", "gnome-terminal",
    "x-terminal-emulator", "konsole", "logger", "run-mailcap", "see", "dialog", "whiptail", "fzf", "skim", "sk",
    "terraform", "direnv", "asdf", "mise", "nvm", "pre-commit",
];

/// The absolute path that each program of a command resolved to, found by whoever will start it and in the very same way.
///
/// A program that may not be trusted to stay what it is must be left unknown: one inside an attached folder, where the
/// agent can replace it, and one whose place depends on a relative part of the search path. What is unknown matches no rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    shell: Option<String>,
    words: Vec<Option<String>>,
}

impl Programs {
    /// Returns programs of which nothing is known: no rule matches.
    #[must_use]
    pub fn unknown() -> Self {
        Self::default()
    }

    /// Takes the shell of a shell text, and the program of each segment in order; none stands for unknown.
    #[must_use]
    pub fn new(shell: Option<String>, words: Vec<Option<String>>) -> Self {
        Self { shell, words }
    }

    /// Looks the programs of a command up: the shell of a shell text by `shell`, the first word of each segment by `program`.
    /// A command that cannot be told apart into segments has unknown programs; its shell is known all the same.
    #[must_use]
    pub fn find(
        op: &CommandOp,
        shell: impl FnOnce(ShellKind) -> Option<String>,
        program: impl FnMut(&str) -> Option<String>,
    ) -> Self {
        let shell = match &op.line {
            CommandLine::Shell { shell: kind, .. } => shell(*kind),
            CommandLine::Argv(_) => None,
        };
        let segments = segments(op).unwrap_or_default();
        let words = segments.iter().map(Segment::program).map(program).collect();
        Self { shell, words }
    }

    /// Returns the shell of a shell text.
    #[must_use]
    pub fn shell(&self) -> Option<&str> {
        self.shell.as_deref()
    }

    /// Returns the program of each segment.
    #[must_use]
    pub fn words(&self) -> &[Option<String>] {
        &self.words
    }

    /// Returns the program that is started first: the shell of a shell text, else the program of the argument list. A permit
    /// that names one is worth nothing for another.
    #[must_use]
    pub fn started(&self) -> Option<&str> {
        match &self.shell {
            Some(shell) => Some(shell),
            None => self.words.first().and_then(Option::as_deref),
        }
    }

    /// Tells whether a rule may match at all: the shell, if there is one, is one whose grammar is known.
    pub(crate) fn fit(&self, line: &CommandLine) -> bool {
        match line {
            CommandLine::Argv(_) => self.shell.is_none(),
            CommandLine::Shell { .. } => {
                self.shell.as_deref().is_some_and(|shell| KNOWN_SHELLS.contains(&file_name(shell)))
            }
        }
    }
}

/// Tells whether a rule for this program may leave words open. Not for one that runs other programs named in its words: an
/// open word there would allow everything. Known by name, so it is a net under the person's feet and no wall.
#[must_use]
pub fn may_loosen(program: &str) -> bool {
    let name = file_name(program).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    let loader = ["ld-linux", "ld-musl", "ld.so"].iter().any(|loader| name.starts_with(loader));
    // A compiler for another machine is named `aarch64-linux-gnu-gcc`.
    let last = stem.rsplit('-').next().unwrap_or(stem);
    !(loader || stem.is_empty() || [name, stem, last].iter().any(|name| RUNNERS.contains(name)))
}

/// Returns what stands after the last separator of either kind.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_run_others_may_not_be_left_open() {
        for name in [
            "/bin/sh",
            "/usr/bin/bash",
            "/usr/bin/env",
            "/usr/bin/sudo",
            "/usr/bin/xargs",
            "/usr/bin/nice",
            "/usr/bin/git",
            "/usr/bin/python3",
            "/usr/bin/python3.12",
            "/usr/bin/perl5.36.0",
            "/usr/bin/ruby2.7",
            "/usr/bin/node",
            "find",
            "/usr/bin/ssh",
            "/usr/bin/make",
            "/usr/bin/gawk",
            "/usr/bin/tar",
            "/usr/bin/timeout",
            "/usr/bin/nohup",
            "/lib64/ld-linux-x86-64.so.2",
            "C:\\Windows\\System32\\CMD.EXE",
            "/usr/bin/clang-15",
            "/usr/bin/gcc-12",
            "/usr/bin/linux64",
            "/usr/bin/lua5.4",
            "/opt/Python",
            "/usr/bin/42",
            "",
            "/usr/bin/",
        ] {
            assert!(!may_loosen(name), "{name}");
        }
        for name in ["/usr/bin/ls", "/bin/cat", "/usr/bin/wc", "/usr/bin/grep", "/usr/bin/sha256sum", "/usr/bin/md5sum"]
        {
            assert!(may_loosen(name), "{name}");
        }
    }

    #[test]
    fn the_program_that_is_started_is_the_shell_of_a_text() {
        let text = Programs::new(Some("/bin/sh".to_owned()), vec![Some("/bin/ls".to_owned())]);
        let list = Programs::new(None, vec![Some("/bin/ls".to_owned())]);

        assert_eq!((text.started(), list.started()), (Some("/bin/sh"), Some("/bin/ls")));
        assert_eq!(Programs::unknown().started(), None);
    }
}
