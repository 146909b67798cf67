//! What the audit log and the window say about an operation (spec 3.3). Never contents, typed text, environment values,
//! grants or browse references (invariant 6).

use drawbridge_core::{
    CommandLine, CommandOp, ContentForm, FileOp, OpError, Operation, Outcome, SessionOp, escape_outside_text,
    shorten_middle,
};
use serde_json::{Map, Value, json};

/// The facts of an operation that are known before it runs.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Name of the operation.
    pub(crate) op: &'static str,
    /// Details for the audit record.
    pub(crate) details: Map<String, Value>,
    /// What it is about, safe to show.
    pub(crate) subject: String,
    /// The path as the peer wrote it, for a jail violation; `src -> dst` for a move.
    path: Option<String>,
}

/// Takes the facts of an operation before it runs.
pub(crate) fn facts(operation: &Operation, command_timeout_seconds: u64) -> Facts {
    let (details, subject, path) = match operation {
        Operation::File(op) => file(op),
        Operation::Command(op) => {
            let details = command(op, command_timeout_seconds);
            (details, command_subject(op), op.cwd.clone())
        }
        Operation::Browse(op) => {
            let browse_id = op.place.as_ref().map(|place| &place.browse_id);
            (json!({ "browse_id": browse_id }), String::new(), None)
        }
        Operation::Session(op) => (json!({}), op.session().as_str().to_owned(), None),
    };
    Facts { op: operation.name(), details: object(details), subject: shown(&subject), path }
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
                self.subject = shown(path.as_deref().unwrap_or("roots"));
                json!({
                    "browse_id": page.browse_id,
                    "path": path,
                    "entries_returned": page.entries.len(),
                    "truncated": page.truncated,
                })
            }
            Outcome::Attached { binding, .. } | Outcome::Activated(binding) | Outcome::Restored { binding, .. } => {
                self.subject = shown(&binding.allowed_root);
                json!({
                    "allowed_root": binding.allowed_root,
                    "fingerprint": binding.fingerprint,
                    "revision": binding.revision,
                })
            }
            Outcome::Changed(change) if change.link_broken => json!({ "link_broken": true }),
            Outcome::Changed(_) | Outcome::Done | Outcome::Stat(_) | Outcome::Command(_) => return,
        };
        self.details.extend(object(more));
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

fn file(op: &FileOp) -> (Value, String, Option<String>) {
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
    };
    let path = match op {
        FileOp::Move { src, dst, .. } => format!("{src} -> {dst}"),
        FileOp::Read { .. }
        | FileOp::Write { .. }
        | FileOp::Stat { .. }
        | FileOp::List { .. }
        | FileOp::Delete { .. } => op.path().to_owned(),
    };
    (details, path.clone(), Some(path))
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

fn command_subject(op: &CommandOp) -> String {
    match &op.line {
        CommandLine::Shell { command, .. } => command.clone(),
        CommandLine::Argv(argv) => argv.join(" "),
    }
}

const fn encoding(form: ContentForm) -> &'static str {
    match form {
        ContentForm::Text => "utf-8",
        ContentForm::Bytes => "base64",
    }
}

/// Makes outside text fit for a row: one line, nothing hidden, both ends kept.
pub(crate) fn shown(text: &str) -> String {
    shorten_middle(&escape_outside_text(text), 160)
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
                FileOp::Move { dst, .. } => format!("The agent wants to move {path} to {}", shown(dst)),
            }
        }
        Operation::Command(_) => "The agent wants to run a command on this computer".to_owned(),
        Operation::Browse(_) => "The platform wants to see names of folders".to_owned(),
        Operation::Session(op) => match op {
            SessionOp::Attach { .. } => "The platform wants to attach a folder to a chat".to_owned(),
            SessionOp::Activate { .. } | SessionOp::Restore { .. } => {
                "The platform wants to work in an attached folder".to_owned()
            }
            SessionOp::Detach { .. } => "The platform wants to detach a folder".to_owned(),
        },
    }
}
