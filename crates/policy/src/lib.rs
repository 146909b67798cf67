//! Who may do what: rules, grants, the one decision function and the permit it issues. No I/O.
//!
//! [`decide`] is the only place where a decision is made. The engine, the window, `policy explain` and the audit log all
//! show its result, so settings cannot disagree with behaviour (DESIGN §3, invariant 1).

mod decision;
mod grant;
mod permit;
mod rules;
mod words;

pub use decision::{Decision, Explanation, Rule, decide};
pub use grant::{Fingerprint, GrantClaims, GrantFault, GrantKey, directory_fingerprint};
pub use permit::{Permit, Question, Verdict, authorize};
pub use rules::{ChatAllowance, CommandRule, Network, Origin, PolicyState, Prompting, ShellMode, WordPattern};
pub use words::RuleParts;
