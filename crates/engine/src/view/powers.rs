//! What is shown of powers, of how commands run, of rules, and of why something was decided as it was.

use drawbridge_core::escape_outside_text;
use drawbridge_policy::Explanation;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Something that was allowed beyond the modes of the powers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct RuleView {
    /// Its name, for removing it.
    pub id: String,
    /// `chat_power`: a power for one chat. "command": a command pattern. `chat_mode`: the mode of a power in one chat; only in
    /// explanations, since a chat tells its modes itself.
    pub kind: String,
    /// The chat it holds for; none means always.
    pub session_id: Option<String>,
    /// The folder of that chat, safe to show.
    pub folder: Option<String>,
    /// The power concerned.
    pub power: String,
    /// The mode, for the mode of a power in one chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mode: Option<String>,
    /// The resolved program of a command rule, safe to show.
    pub program: Option<String>,
    /// The words of a command rule, each safe to show; `*` alone stands for any one word.
    pub words: Vec<String>,
    /// Any further words may follow.
    pub any_more: bool,
    /// "answered": by a question. "window": set in the window.
    pub origin: String,
    /// When, Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// Why something was allowed, asked or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct WhyView {
    /// "allow", "ask" or "deny".
    pub decision: String,
    /// Stable name of the rule that won.
    pub rule: String,
    /// The power concerned.
    pub power: Option<String>,
    /// The mode that decided, if one did.
    pub mode: Option<String>,
    /// Who switched the power off, if somebody did.
    pub by: Option<String>,
    /// Names of the command rules that decided, joined by `+`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub id: Option<String>,
    /// The reason in words, in English.
    pub text: String,
}

/// One switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct PowerView {
    /// Stable name, for example "shell".
    pub power: String,
    /// "off", `ask_each_time`, `ask_once_per_chat` or "allowed".
    pub mode: String,
    /// Who switched it off for good, if somebody did.
    pub locked_by: Option<String>,
    /// How far it may go at most, if somebody fixed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ceiling: Option<CeilingView>,
    /// This version can really do it.
    pub built: bool,
    /// Operations of it that run now.
    pub running: u32,
}

/// How far a power may go at most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct CeilingView {
    /// Its loosest mode, as in [`PowerView`].
    pub mode: String,
    /// Who says so, safe to show.
    pub by: String,
}

/// How far running commands may go at most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ShellCeilingView {
    /// Who says so, safe to show.
    pub by: String,
    /// Commands may not be given everything that the person can do.
    pub confined_only: bool,
    /// The most that a confined command may reach, as in [`ShellView`], if that is fixed.
    pub network: Option<String>,
}

/// How commands run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ShellView {
    /// "confined" or "full".
    pub mode: String,
    /// "none", "loopback" or "all".
    pub network: String,
    /// Why this machine cannot confine commands, if so.
    pub confinement_missing: Option<String>,
    /// How far that may go at most, if somebody fixed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ceiling: Option<ShellCeilingView>,
}

/// What policy says about a kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ExplainView {
    /// Name of the operation, as in the audit log.
    pub operation: String,
    /// The power that covers it; none when it only takes away.
    pub power: Option<String>,
    /// "allow", "ask" or "deny".
    pub decision: String,
    /// Stable name of the rule that won.
    pub rule: String,
    /// The mode that decided, if one did.
    pub mode: Option<String>,
    /// Who switched the power off, if somebody did.
    pub by: Option<String>,
    /// The reason in words.
    pub why: String,
    /// What may decide otherwise for one chat or for one command, newest first. The decision above is that for a chat without
    /// modes of its own when none is named, and for a command that no rule allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<RuleView>>", optional)]
    pub rules: Vec<RuleView>,
}

impl From<&Explanation> for WhyView {
    fn from(explanation: &Explanation) -> Self {
        let parts = explanation.rule.parts();
        Self {
            decision: explanation.decision.name().to_owned(),
            rule: parts.name.to_owned(),
            power: parts.power.map(|power| power.name().to_owned()),
            mode: parts.mode.map(|mode| mode.name().to_owned()),
            by: parts.by.map(escape_outside_text),
            id: parts.id.map(escape_outside_text),
            text: explanation.why.clone(),
        }
    }
}
