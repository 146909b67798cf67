//! What a question shows: plain words first, exact facts below, all of it safe to show (DESIGN §4).
//!
//! Facts are label and value; labels are keys ([`label`]), for which the window has the words. Nothing here decides
//! anything, and nothing of it reaches a log.

mod computer;
mod diff;
mod hardware;
mod label;
mod model;
mod privacy;

use std::path::Path;

use drawbridge_caps::shell::Preview;
use drawbridge_core::model::ModelOp;
use drawbridge_core::{CommandLine, CommandOp, FileOp, OpError, Operation, PowerMode, SessionOp, escape_outside_text};
use drawbridge_os::root::Kind;
use drawbridge_policy::{Network, PolicyState, Question, ShellMode, covered_by_chat_allowance};

use crate::consent::seal::{ENTRIES_COUNTED, Scene, Seen, Sighted};
use crate::record;
use crate::view::{DiffView, PromptDetail};

use label::Label;
pub use label::{PROMPT_ACTIONS, PROMPT_KINDS, PROMPT_LABELS, PROMPT_WALLS};

/// Characters of one fact that are carried to the window. The window scrolls; nothing is cut below this.
const DETAIL_CHARS: usize = 20_000;
/// Characters of all words of a command together.
const ARGV_CHARS: usize = 100_000;
/// Words shown one by one.
const MAX_WORDS: usize = 200;

/// What a question shows besides who asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptFacts {
    /// The platform's address, safe to show.
    pub(crate) platform: String,
    /// One plain sentence, safe to show.
    pub(crate) summary: String,
    /// Exact facts, safe to show.
    pub(crate) details: Vec<PromptDetail>,
    /// The words of a command, safe to show.
    pub(crate) argv: Vec<String>,
    /// What an overwrite changes.
    pub(crate) diff: Option<DiffView>,
    /// The folder that would be attached, safe to show.
    pub(crate) folder: Option<String>,
    /// "Allow for this chat" may be offered.
    pub(crate) can_allow_chat: bool,
    /// The words that "Always allow" would allow, safe to show.
    pub(crate) always: Option<Vec<String>>,
}

impl PromptFacts {
    /// Everything that was asked for is shown. What nobody could read can only be denied.
    pub(crate) fn is_whole(&self) -> bool {
        let missing = [Label::LeftOut.key(), Label::MoreArguments.key(), Label::MorePoints.key()];
        !self.details.iter().any(|detail| missing.contains(&detail.label.as_str()))
    }
}

/// Describes a question and what it is bound to. Reads the disk.
///
/// # Errors
/// What the operation would fail with whatever the person says.
pub(crate) fn describe(question: &Question, scene: &Scene) -> Result<(PromptFacts, Sighted), OpError> {
    let sighted = Sighted::of(question.operation(), scene)?;
    let once_per_chat = question.explanation().rule.parts().mode == Some(PowerMode::AskOncePerChat);
    let mut facts = PromptFacts {
        platform: escape_outside_text(&scene.platform),
        summary: record::sentence(question.operation()),
        can_allow_chat: once_per_chat
            && question.session().is_some()
            && !is_attach(question.operation())
            && covered_by_chat_allowance(question.operation()),
        ..PromptFacts::default()
    };
    match question.operation() {
        Operation::File(op) => file(op, &sighted.paths, &mut facts),
        Operation::Command(op) => command(op, sighted.seal.command(), &scene.policy, &mut facts),
        Operation::Session(SessionOp::Attach { .. }) => {
            if let Some((path, identity)) = sighted.seal.folder() {
                let offered = scene.sessions.is_offered(path, *identity);
                attach(path, offered, false, &mut facts);
            }
        }
        Operation::Computer(op) => {
            let reached = scene.screen.computer.reached(op);
            let at = computer::At { reached: reached.as_ref(), launch: sighted.seal.launch() };
            computer::facts(op, &at, &scene.policy, question.session(), &mut facts);
        }
        Operation::Model(ModelOp::Turn(op)) => privacy::turn(op, question.session(), scene, &mut facts),
        Operation::Model(ModelOp::Release(op)) => privacy::release(op, scene, &mut facts),
        Operation::Model(ModelOp::Completion(op)) => model::facts(op, question.session(), scene, &mut facts),
        Operation::Hardware(op) => hardware::facts(op, scene, &mut facts),
        Operation::Browse(_)
        | Operation::Session(SessionOp::Activate { .. } | SessionOp::Restore { .. } | SessionOp::Detach { .. }) => {}
    }
    Ok((facts, sighted))
}

fn is_attach(operation: &Operation) -> bool {
    matches!(operation, Operation::Session(SessionOp::Attach { .. }))
}

/// The facts of a folder to attach. `chosen`: in the place of another one.
pub(crate) fn attach(path: &str, offered: bool, chosen: bool, facts: &mut PromptFacts) {
    let details = &mut facts.details;
    details.clear();
    push(details, Label::Folder, path);
    if offered {
        push(details, Label::Offered, "yes");
    }
    if chosen {
        push(details, Label::Chosen, "yes");
    }
    facts.folder = Some(shown(path).0);
}

fn file(op: &FileOp, paths: &[Seen], facts: &mut PromptFacts) {
    let details = &mut facts.details;
    push(details, Label::Path, op.path());
    let Some(seen) = paths.first() else { return };
    if seen.text != op.path() {
        push(details, Label::Target, &seen.text);
    }
    push(details, Label::Kind, kind(seen));
    match op {
        FileOp::Write { content, .. } => {
            facts.diff = write(content, seen, details);
        }
        FileOp::Delete { recursive, .. } => {
            size(seen, details);
            entries(seen, details);
            if *recursive && kind(seen) == "folder" {
                push(details, Label::Recursive, "yes");
            }
        }
        FileOp::Move { dst, .. } => {
            size(seen, details);
            push(details, Label::To, dst);
            if let Some(target) = paths.get(1) {
                if target.text != *dst {
                    push(details, Label::ToTarget, &target.text);
                }
                if target.facts.is_some() {
                    push(details, Label::Replaces, kind(target));
                    if let Some(facts) = target.facts.filter(|facts| facts.kind == Kind::File) {
                        push(details, Label::SizeBefore, &facts.size_bytes.to_string());
                    }
                }
            }
        }
        FileOp::Read { .. } => size(seen, details),
        FileOp::Stub { preview_bytes, .. } => {
            size(seen, details);
            if *preview_bytes > 0 {
                push(details, Label::FirstBytes, &preview_bytes.to_string());
            }
        }
        FileOp::Stat { .. } | FileOp::List { .. } => {}
    }
}

/// The facts of a write, and what it changes.
fn write(content: &[u8], seen: &Seen, details: &mut Vec<PromptDetail>) -> Option<DiffView> {
    push(details, Label::Size, &content.len().to_string());
    if seen.missing_folders > 0 {
        push(details, Label::NewFolders, &seen.missing_folders.to_string());
    }
    let before = seen.facts.filter(|facts| facts.kind == Kind::File)?;
    push(details, Label::SizeBefore, &before.size_bytes.to_string());
    let Some(old) = seen.content.as_deref().filter(|_| content.len() as u64 <= diff::MAX_BYTES) else {
        return Some(diff::too_large());
    };
    let view = diff::between(old, content);
    if view.is_none() {
        push(details, Label::Content, "binary");
    }
    view
}

fn size(seen: &Seen, details: &mut Vec<PromptDetail>) {
    if let Some(facts) = seen.facts.filter(|facts| facts.kind == Kind::File) {
        push(details, Label::Size, &facts.size_bytes.to_string());
    }
}

fn entries(seen: &Seen, details: &mut Vec<PromptDetail>) {
    if kind(seen) == "folder" {
        let label = if seen.entries >= ENTRIES_COUNTED { Label::EntriesAtLeast } else { Label::Entries };
        push(details, label, &seen.entries.to_string());
    }
}

const fn kind(seen: &Seen) -> &'static str {
    match &seen.facts {
        None => "missing",
        Some(facts) => match facts.kind {
            Kind::File => "file",
            Kind::Folder => "folder",
            Kind::Link => "link",
            Kind::Other => "other",
        },
    }
}

fn command(op: &CommandOp, preview: Option<&Preview>, policy: &PolicyState, facts: &mut PromptFacts) {
    let details = &mut facts.details;
    let asked = match &op.line {
        CommandLine::Shell { command, shell } => {
            push(details, Label::Command, command);
            push(details, Label::Shell, shell.name());
            shell.name()
        }
        CommandLine::Argv(words) => {
            let left_out;
            (facts.argv, left_out) = argv(words);
            tell_left_out(details, left_out);
            if words.len() > MAX_WORDS {
                push(details, Label::MoreArguments, &(words.len() - MAX_WORDS).to_string());
            }
            words.first().map_or("", String::as_str)
        }
    };
    match preview.and_then(|preview| preview.program.as_ref()) {
        Some(program) => {
            push(details, Label::Program, &program.path.to_string_lossy());
            if let Ok(real) = std::fs::canonicalize(&program.path)
                && real != program.path
            {
                push(details, Label::ProgramTarget, &real.to_string_lossy());
            }
        }
        None => push(details, Label::ProgramNotFound, asked),
    }
    if let Some(preview) = preview {
        push(details, Label::WorkingFolder, &text_of(&preview.folder.path));
    }
    // Values may be secrets; names are enough to see what is unusual.
    for name in op.env.keys() {
        push(details, Label::EnvironmentVariable, name);
    }
    push(details, Label::Walls, walls(policy));
}

/// Each word on its own, within a bound for all of them.
/// Also returns how many characters are left out.
fn argv(words: &[String]) -> (Vec<String>, usize) {
    let (mut left, mut left_out) = (ARGV_CHARS, 0);
    let shown = words.iter().take(MAX_WORDS).map(|word| {
        let (safe, missing) = shown_within(word, left.clamp(100, DETAIL_CHARS));
        left = left.saturating_sub(safe.chars().count());
        left_out += missing;
        safe
    });
    (shown.collect(), left_out)
}

const fn walls(policy: &PolicyState) -> &'static str {
    match (policy.shell_mode, policy.shell_network) {
        (ShellMode::Full, _) => "full",
        (ShellMode::Confined, Network::None) => "confined_none",
        (ShellMode::Confined, Network::Loopback) => "confined_loopback",
        (ShellMode::Confined, Network::All) => "confined_all",
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Makes a value safe to show and tells how many of its characters are left out.
fn shown(value: &str) -> (String, usize) {
    shown_within(value, DETAIL_CHARS)
}

fn shown_within(value: &str, most_chars: usize) -> (String, usize) {
    let safe = escape_outside_text(value);
    let short = drawbridge_core::shorten_middle(&safe, most_chars);
    if short.len() == safe.len() {
        return (short, 0);
    }
    // Three characters of the short form stand for what is left out.
    let left_out = safe.chars().count() - (short.chars().count() - 3);
    (short, left_out)
}

fn push(details: &mut Vec<PromptDetail>, label: Label, value: &str) {
    let (value, left_out) = shown(value);
    details.push(PromptDetail { label: label.key().to_owned(), value });
    tell_left_out(details, left_out);
}

fn tell_left_out(details: &mut Vec<PromptDetail>, left_out: usize) {
    if left_out > 0 {
        details.push(PromptDetail { label: Label::LeftOut.key().to_owned(), value: left_out.to_string() });
    }
}
