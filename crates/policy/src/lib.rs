//! Who may do what: rules, grants, the one decision function and the permit it issues. No I/O.
//!
//! [`decide`] is the only place where a decision is made. The engine, the window, `policy explain` and the audit log all
//! show its result, so settings cannot disagree with behaviour (DESIGN §3, invariant 1).

mod command_rule;
mod decision;
mod grant;
mod leave;
mod permit;
mod programs;
mod rules;
mod segments;
mod words;

pub use command_rule::{ANY_WORD, CommandRule, MAX_RULE_WORD_BYTES, MAX_RULE_WORDS, MAX_RULES, RuleFault, WordPattern};
pub use decision::{Decision, Explanation, Rule, covered_by_chat_allowance, decide, decide_resolved};
pub use grant::{Fingerprint, GrantClaims, GrantFault, GrantKey, directory_fingerprint};
pub use leave::Leave;
pub use permit::{Permit, Question, Verdict, authorize, authorize_resolved};
pub use programs::{Programs, may_loosen};
pub use rules::{
    Ceilings, ChatAllowance, Given, MAX_APP_CHARS, MAX_APPS, MAX_DEVICES, MAX_MODEL_SERVERS, MAX_PRIVACY_CHATS,
    ModelApi, ModelServer, Network, Origin, PolicyState, Privacy, Prompting, ScreenRules, ScreenRulesFault,
    SharedDevice, ShellMode,
};
pub use segments::{Segment, Unreadable, segments};
pub use words::RuleParts;
