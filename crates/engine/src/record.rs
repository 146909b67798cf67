//! What the audit log and the window say about an operation (spec 3.3). Never contents, typed text, environment values,
//! grants or browse references (invariant 6). Computer use is in [`computer`].

mod computer;
pub(crate) mod hardware;
mod model;
mod privacy;

use drawbridge_core::model::ModelOp;
use drawbridge_core::{
    CommandLine, CommandOp, ContentForm, FileOp, OpError, Operation, Outcome, Power, PowerMode, SessionOp,
    escape_outside_text, shorten_middle,
};
use drawbridge_policy::{Decision, Explanation, Rule, RuleParts};
use serde_json::{Map, Value, json};

use crate::view::WhyView;

pub(crate) use model::prompt_chars;

/// The detail that says why an operation was allowed or refused.
const DECISION: &str = "decision";
/// Characters of a subject that a row shows.
const SUBJECT_CHARS: usize = 160;

/// The facts of an operation that are known before it runs.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Name of the operation.
    pub(crate) op: &'static str,
    /// Details for the audit record.
    pub(crate) details: Map<String, Value>,
    /// The path as the peer wrote it, for a jail violation; `src -> dst` for a move.
    path: Option<String>,
}

/// Takes the facts of an operation before it runs.
pub(crate) fn facts(operation: &Operation, command_timeout_seconds: u64) -> Facts {
    let (details, path) = match operation {
        Operation::File(op) => file(op),
        Operation::Command(op) => (command(op, command_timeout_seconds), op.cwd.clone()),
        Operation::Browse(op) => {
            let browse_id = op.place.as_ref().map(|place| &place.browse_id);
            (json!({ "browse_id": browse_id }), None)
        }
        Operation::Computer(op) => (computer::details(op), None),
        Operation::Model(ModelOp::Turn(op)) => (privacy::turn(op), None),
        Operation::Model(ModelOp::Release(op)) => (privacy::release(op), None),
        Operation::Model(ModelOp::Completion(op)) => (model::details(op), None),
        Operation::Hardware(op) => (hardware::details(op), None),
        Operation::Session(_) => (json!({}), None),
    };
    Facts { op: operation.name(), details: object(details), path }
}

impl Facts {
    /// Adds what is known only afterwards.
    pub(crate) fn complete(&mut self, result: &Result<Outcome, OpError>) {
        let Ok(outcome) = result else { return };
        let more = match outcome {
            Outcome::Contents(contents) => json!({ "size_bytes_returned": contents.size_bytes }),
            Outcome::List { entries, .. } => json!({ "entries_returned": entries.len() }),
            Outcome::Directory(page) => {
                let path = page.current.as_ref().map(|current| current.path.clone());
                json!({
                    "browse_id": page.browse_id,
                    "path": path,
                    "entries_returned": page.entries.len(),
                    "truncated": page.truncated,
                })
            }
            Outcome::Attached { binding, .. } | Outcome::Activated(binding) | Outcome::Restored { binding, .. } => {
                json!({
                    "allowed_root": binding.allowed_root,
                    "fingerprint": binding.fingerprint,
                    "revision": binding.revision,
                })
            }
            Outcome::Changed(change) if change.link_broken => json!({ "link_broken": true }),
            Outcome::Changed(_) | Outcome::Done | Outcome::Stat(_) | Outcome::Command(_) => return,
            Outcome::Picture(_)
            | Outcome::Cursor(_)
            | Outcome::Displays(_)
            | Outcome::Windows { .. }
            | Outcome::Apps(_)
            | Outcome::Launched { .. }
            | Outcome::Clipboard(_)
            | Outcome::ClipboardWritten { .. }
            | Outcome::Permissions(_) => match computer::afterwards(outcome) {
                Some(more) => more,
                None => return,
            },
            Outcome::Stub(stub) => privacy::described(stub),
            Outcome::Turn(answer) => privacy::answered(answer),
            Outcome::Completion(answer) => model::answered(answer),
            Outcome::Hardware(outcome) => match hardware::afterwards(outcome) {
                Some(more) => more,
                None => return,
            },
        };
        self.details.extend(object(more));
    }

    /// Adds why it was allowed or refused.
    pub(crate) fn decided(&mut self, explanation: &Explanation) {
        let parts = explanation.rule.parts();
        let mut decision = object(json!({ "verdict": explanation.decision.name(), "rule": parts.name }));
        let more = [
            ("power", parts.power.map(Power::name)),
            ("mode", parts.mode.map(PowerMode::name)),
            ("by", parts.by),
            ("id", parts.id),
        ];
        decision.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?)))));
        self.details.insert(DECISION.to_owned(), Value::Object(decision));
    }

    /// Returns what it is about, safe to show and short.
    pub(crate) fn subject(&self) -> String {
        shown(&subject_of(self.op, &self.details))
    }

    /// Returns the details of a jail violation record, if the error is one (spec 3.3).
    pub(crate) fn jail_violation(&self, error: &OpError, code: &str, request_id: &str) -> Option<Map<String, Value>> {
        let jail =
            matches!(error, OpError::OutsideRoot { .. } | OpError::BadPath { .. } | OpError::ReservedName { .. });
        if !jail {
            return None;
        }
        let path = self.path.as_deref().unwrap_or_default();
        Some(object(json!({ "code": code, "path": path, "attempted_op": self.op, "request_id": request_id })))
    }
}

fn file(op: &FileOp) -> (Value, Option<String>) {
    let details = match op {
        FileOp::Read { path, form, offset, length } => {
            json!({ "path": path, "encoding": encoding(*form), "offset": offset, "length": length })
        }
        FileOp::Write { path, content, form, create_parents } => json!({
            "path": path,
            "encoding": encoding(*form),
            "size_bytes_written": content.len(),
            "create_parents": create_parents,
        }),
        FileOp::Stat { path, follow_symlinks } => json!({ "path": path, "follow_symlinks": follow_symlinks }),
        FileOp::List { path, glob, recursive, include_hidden, max_entries } => json!({
            "path": path,
            "glob": glob,
            "recursive": recursive,
            "include_hidden": include_hidden,
            "max_entries": max_entries,
        }),
        FileOp::Delete { path, recursive, missing_ok } => {
            json!({ "path": path, "recursive": recursive, "missing_ok": missing_ok })
        }
        FileOp::Move { src, dst, overwrite } => json!({ "src": src, "dst": dst, "overwrite": overwrite }),
        FileOp::Stub { path, .. } => json!({ "path": path, "mode": "stub" }),
    };
    let path = match op {
        FileOp::Move { src, dst, .. } => format!("{src} -> {dst}"),
        FileOp::Read { .. }
        | FileOp::Write { .. }
        | FileOp::Stat { .. }
        | FileOp::List { .. }
        | FileOp::Delete { .. }
        | FileOp::Stub { .. } => op.path().to_owned(),
    };
    (details, Some(path))
}

fn command(op: &CommandOp, ceiling_seconds: u64) -> Value {
    let (command, argv, shell) = match &op.line {
        CommandLine::Shell { command, shell } => (Some(command), None, Some(shell.name())),
        CommandLine::Argv(argv) => (None, Some(argv), None),
    };
    let timeout = op.timeout.map_or(ceiling_seconds, |asked| asked.as_secs().min(ceiling_seconds));
    let env_keys: Vec<&String> = op.env.keys().collect();
    json!({
        "command": command,
        "argv": argv,
        "shell": shell,
        "cwd": op.cwd,
        "env_keys": env_keys,
        "timeout_seconds": timeout,
    })
}

const fn encoding(form: ContentForm) -> &'static str {
    match form {
        ContentForm::Text => "utf-8",
        ContentForm::Bytes => "base64",
    }
}

/// Makes outside text fit for a row: one line, nothing hidden, both ends kept.
pub(crate) fn shown(text: &str) -> String {
    shorten_middle(&escape_outside_text(text), SUBJECT_CHARS)
}

/// Returns what a record is about, as its details say: a path, a command, a folder. Neither safe to show nor short.
pub(crate) fn subject_of(op: &str, details: &Map<String, Value>) -> String {
    const KEYS: [&str; 9] =
        ["path", "allowed_root", "session_id", "model", "format", "operation", "reason", "why", "file"];
    let text = |key: &str| details.get(key).and_then(Value::as_str);
    match op {
        "FILE_MOVE" => format!("{} -> {}", text("src").unwrap_or_default(), text("dst").unwrap_or_default()),
        "EXECUTE_COMMAND" => match text("command") {
            Some(command) => command.to_owned(),
            None => details.get("argv").map(words).unwrap_or_default(),
        },
        // The top of what may be browsed has no path.
        "DIRECTORY_LIST" if details.contains_key("entries_returned") => text("path").unwrap_or("roots").to_owned(),
        "STOP_ALL" if details.get("raised") == Some(&Value::Bool(false)) => "lowered".to_owned(),
        "STOP_ALL" => "raised".to_owned(),
        "CONSENT_ANSWERED" => {
            format!("{}: {}", text("operation").unwrap_or_default(), text("answer").unwrap_or_default())
        }
        "POLICY_CHANGED" | "LOG_PRUNED" => {
            let told: Vec<String> = details.iter().map(|(key, value)| format!("{key}: {}", words(value))).collect();
            told.join(", ")
        }
        _ => computer::subject(op, details)
            .or_else(|| privacy::subject(op, details))
            .or_else(|| hardware::subject(op, details))
            .unwrap_or_else(|| KEYS.iter().find_map(|key| text(key)).unwrap_or_default().to_owned()),
    }
}

/// Puts a value into one line: the words of a list one after the other, of an object its values.
fn words(value: &Value) -> String {
    let joined = |values: Vec<String>| values.join(" ");
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => joined(items.iter().map(words).collect()),
        Value::Object(fields) => joined(fields.values().map(words).collect()),
    }
}

/// Returns why a recorded operation was allowed or refused then, in the words of the decision function. None when the
/// record does not say, or names a rule that this version does not know.
pub(crate) fn why_of(details: &Map<String, Value>) -> Option<WhyView> {
    let decision = details.get(DECISION)?.as_object()?;
    let text = |key: &str| decision.get(key).and_then(Value::as_str);
    let rule = Rule::from_parts(RuleParts {
        name: text("rule")?,
        power: text("power").and_then(Power::from_name),
        mode: text("mode").and_then(PowerMode::from_name),
        by: text("by"),
        id: text("id"),
    })?;
    Some(WhyView::from(&Explanation::new(Decision::from_name(text("verdict")?)?, rule)))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Says what an operation would do, in one plain sentence for the person.
pub(crate) fn sentence(operation: &Operation) -> String {
    match operation {
        Operation::File(op) => {
            let path = shown(op.path());
            match op {
                FileOp::Read { .. } => format!("The agent wants to read {path}"),
                FileOp::Write { .. } => format!("The agent wants to write {path}"),
                FileOp::Stat { .. } | FileOp::List { .. } => format!("The agent wants to look at {path}"),
                FileOp::Delete { .. } => format!("The agent wants to delete {path}"),
                FileOp::Stub { preview_bytes, .. } if *preview_bytes > 0 => {
                    format!(
                        "The agent wants to know about {path}, and {preview_bytes} bytes of its content at most would leave"
                    )
                }
                FileOp::Stub { .. } => format!("The agent wants to know about {path} without its content"),
                FileOp::Move { dst, .. } => format!("The agent wants to move {path} to {}", shown(dst)),
            }
        }
        Operation::Command(_) => "The agent wants to run a command on this computer".to_owned(),
        Operation::Browse(_) => "The platform wants to see names of folders".to_owned(),
        Operation::Computer(op) => format!("The agent wants to {}", computer::wish(op)),
        Operation::Model(ModelOp::Turn(op)) => privacy::turn_sentence(op),
        Operation::Model(ModelOp::Release(op)) => privacy::release_sentence(op),
        Operation::Model(ModelOp::Completion(op)) => model::sentence(op),
        Operation::Hardware(op) => hardware::sentence(op),
        Operation::Session(op) => match op {
            SessionOp::Attach { .. } => "The platform wants to attach a folder to a chat".to_owned(),
            SessionOp::Activate { .. } | SessionOp::Restore { .. } => {
                "The platform wants to work in an attached folder".to_owned()
            }
            SessionOp::Detach { .. } => "The platform wants to detach a folder".to_owned(),
        },
    }
}
