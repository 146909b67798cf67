//! The user unit of systemd: the engine without a window.

use std::path::PathBuf;

use super::Parsed;

/// Its name.
pub(super) const NAME: &str = "drawbridge.service";
/// How its text begins, in every version that wrote one.
const DESCRIPTION: &str = "Description=Drawbridge: ";

/// What systemd takes in no name of a program, however it is written.
pub(super) const REFUSED: [char; 3] = ['"', '\'', '\\'];

/// Makes the unit for this program. The path has no control character and none of [`REFUSED`].
///
/// Nothing that would hold for the commands of agents too (`NoNewPrivileges`, `UMask`, a private /tmp, an own user namespace): a
/// command is walled in by Drawbridge itself, as the person chose. Only the engine gets the polite signal, since it ends its
/// commands in order; a command that the system kills for its memory does not take the engine with it.
pub(super) fn render(program: &str) -> String {
    format!(
        "# Written by `drawbridge install`; `drawbridge uninstall` removes it.\n\
         [Unit]\n{DESCRIPTION}lets an AI agent work on this computer, on your terms\n\
         Documentation=man:drawbridge(1)\nWants=network-online.target\nAfter=network-online.target\n\n\
         [Service]\nType=simple\nExecStart={} start --headless --service\nRestart=on-failure\nRestartSec=5\n\
         RestartPreventExitStatus=76 77\nKillMode=mixed\nTimeoutStopSec=10\nOOMPolicy=continue\n\n\
         [Install]\nWantedBy=default.target\n",
        quoted(program)
    )
}

/// What switches it on or off.
pub(super) fn commands(on: bool) -> Vec<String> {
    let switch = if on { "enable" } else { "disable" };
    vec!["systemctl --user daemon-reload".to_owned(), format!("systemctl --user {switch} --now {NAME}")]
}

/// The name of a program for systemd: in quotes, `%` doubled. Its variables are not put in there, so `$` stands for itself.
fn quoted(program: &str) -> String {
    format!("\"{}\"", program.replace('%', "%%"))
}

/// Reads what matters of a unit.
pub(super) fn parse(text: &str) -> Parsed {
    let command = text.lines().find_map(|line| line.trim().strip_prefix("ExecStart="));
    Parsed {
        program: command.and_then(first_word).map(PathBuf::from),
        ours: text.lines().any(|line| line.trim().starts_with(DESCRIPTION)),
        disabled: false,
    }
}

fn first_word(line: &str) -> Option<String> {
    let mut out = String::new();
    let mut within = false;
    let mut chars = line.trim_start_matches(['@', '-', ':', '+', '!', ' ']).chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => within = !within,
            '%' => out.push(chars.next().filter(|next| *next == '%')?),
            c if c.is_whitespace() && !within => break,
            c => out.push(c),
        }
    }
    (!within && !out.is_empty()).then_some(out)
}
