//! What a question shows: plain words first, exact facts below, all of it safe to show (DESIGN §4).

use drawbridge_core::{
    CommandLine, CommandOp, FileOp, OpError, Operation, Power, PowerMode, SessionOp, escape_outside_text,
};
use drawbridge_os::root::Root;
use drawbridge_policy::{Network, PolicyState, Question, ShellMode};

use crate::consent::PromptFacts;
use crate::record;
use crate::sessions::Sessions;
use crate::view::PromptDetail;

/// Characters of one detail that are carried to the window. The window scrolls; nothing is cut below this.
const DETAIL_CHARS: usize = 20_000;
/// Arguments shown one by one.
const MAX_ARGUMENTS: usize = 200;

/// Describes a question.
///
/// # Errors
/// When the folder asked about is gone or the reference has expired.
pub(crate) fn describe(
    question: &Question,
    root: Option<&Root>,
    platform: &str,
    policy: &PolicyState,
    sessions: &Sessions,
) -> Result<PromptFacts, OpError> {
    let mut details = Vec::new();
    match question.operation() {
        Operation::File(op) => file(op, &mut details),
        Operation::Command(op) => command(op, root, policy, &mut details),
        Operation::Browse(_) => {}
        Operation::Session(op) => match op {
            SessionOp::Attach { place, .. } => push(&mut details, "folder", &sessions.folder_of(place)?),
            SessionOp::Activate { .. } | SessionOp::Restore { .. } | SessionOp::Detach { .. } => {}
        },
    }
    let once_per_chat = policy.mode(question.power()) == PowerMode::AskOncePerChat;
    Ok(PromptFacts {
        platform: escape_outside_text(platform),
        summary: record::sentence(question.operation()),
        details,
        can_allow_chat: once_per_chat && question.session().is_some() && question.power() != Power::Attach,
    })
}

fn file(op: &FileOp, details: &mut Vec<PromptDetail>) {
    push(details, "path", op.path());
    match op {
        FileOp::Write { content, .. } => push(details, "bytes", &content.len().to_string()),
        FileOp::Move { dst, .. } => push(details, "to", dst),
        FileOp::Delete { recursive: true, .. } => push(details, "with everything inside", "yes"),
        FileOp::Read { .. } | FileOp::Stat { .. } | FileOp::List { .. } | FileOp::Delete { .. } => {}
    }
}

fn command(op: &CommandOp, root: Option<&Root>, policy: &PolicyState, details: &mut Vec<PromptDetail>) {
    match &op.line {
        CommandLine::Shell { command, shell } => {
            push(details, "shell", shell.name());
            push(details, "command", command);
        }
        CommandLine::Argv(argv) => {
            for (index, argument) in argv.iter().take(MAX_ARGUMENTS).enumerate() {
                push(details, if index == 0 { "program" } else { "argument" }, argument);
            }
            if argv.len() > MAX_ARGUMENTS {
                push(details, "more arguments", &(argv.len() - MAX_ARGUMENTS).to_string());
            }
        }
    }
    push(details, "working folder", op.cwd.as_deref().or(root.map(Root::path)).unwrap_or(""));
    // Values may be secrets; names are enough to see what is unusual.
    for name in op.env.keys() {
        push(details, "environment variable", name);
    }
    let walls = match (policy.shell_mode, policy.shell_network) {
        (ShellMode::Full, _) => "full access: it can do what you can do",
        (ShellMode::Confined, Network::None) => "confined: writes only in the folder, no network",
        (ShellMode::Confined, Network::Loopback) => "confined: writes only in the folder, its own loopback network",
        (ShellMode::Confined, Network::All) => "confined: writes only in the folder, full network",
    };
    push(details, "walls", walls);
}

fn push(details: &mut Vec<PromptDetail>, label: &str, value: &str) {
    let safe = escape_outside_text(value);
    details.push(PromptDetail { label: label.to_owned(), value: drawbridge_core::shorten_middle(&safe, DETAIL_CHARS) });
}
