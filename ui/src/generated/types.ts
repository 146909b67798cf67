// Generated from the engine's types by crates/engine/tests/types.rs. Do not edit.

export type Snapshot = { 
/**
 * Version of the program.
 */
version: string, 
/**
 * Nothing may act: the stored stop.
 */
raised: boolean, 
/**
 * Why everything is refused or nothing can start, if so, with what to do.
 */
trouble: Notice | null, 
/**
 * The account at the platform.
 */
account: AccountView, 
/**
 * The control link, or the one data link of a legacy session.
 */
link: LinkView, 
/**
 * Chats with a folder, newest use first.
 */
chats: Array<ChatView>, 
/**
 * The person's switches.
 */
powers: Array<PowerView>, 
/**
 * How commands run.
 */
shell: ShellView, 
/**
 * Questions that wait for an answer, oldest first.
 */
prompts: Array<PromptView>, 
/**
 * The latest acts, newest first, at most 200.
 */
activity: Array<ActivityRow>, 
/**
 * How the audit log is.
 */
audit: AuditView, };

export type Notice = { 
/**
 * A stable name.
 */
code: string, 
/**
 * The message.
 */
message: string, };

export type AccountState = "signed_out" | "signing_in" | "signed_in" | "refused";

export type AccountView = { 
/**
 * Its state.
 */
state: AccountState, 
/**
 * The platform's address.
 */
platform_url: string, 
/**
 * The page to open in a browser while signing in.
 */
authorize_url: string | null, 
/**
 * The last thing that went wrong, in words.
 */
problem: string | null, };

export type LinkState = "off" | "connecting" | "connected" | "waiting" | "halted";

export type LinkView = { 
/**
 * Its state.
 */
state: LinkState, 
/**
 * Why it waits or halted, in words.
 */
reason: string | null, };

export type ChatView = { 
/**
 * The chat's id.
 */
session_id: string, 
/**
 * The folder, safe to show.
 */
folder: string, 
/**
 * Revision of the attachment.
 */
revision: number, 
/**
 * A data link runs.
 */
active: boolean, 
/**
 * State of the data link; off when there is none.
 */
link: LinkState, 
/**
 * Requests running now.
 */
in_flight: number, 
/**
 * Requests answered since the program started.
 */
requests: number, 
/**
 * The person took the grant back.
 */
revoked: boolean, 
/**
 * Last use, Unix milliseconds.
 */
last_used_ms: number, };

export type PowerView = { 
/**
 * Stable name, for example "shell".
 */
power: string, 
/**
 * "off", `ask_each_time`, `ask_once_per_chat` or "allowed".
 */
mode: string, 
/**
 * Who switched it off for good, if somebody did.
 */
locked_by: string | null, 
/**
 * This version can really do it.
 */
built: boolean, };

export type ShellView = { 
/**
 * "confined" or "full".
 */
mode: string, 
/**
 * "none", "loopback" or "all".
 */
network: string, 
/**
 * Why this machine cannot confine commands, if so.
 */
confinement_missing: string | null, };

export type PromptView = { 
/**
 * Number of the question.
 */
id: number, 
/**
 * The power concerned.
 */
power: string, 
/**
 * The platform's address.
 */
platform: string, 
/**
 * The chat.
 */
session_id: string | null, 
/**
 * Operation name.
 */
operation: string, 
/**
 * One plain sentence.
 */
summary: string, 
/**
 * Exact facts, each safe to show: label and value.
 */
details: Array<PromptDetail>, 
/**
 * "Allow for this chat" may be offered.
 */
can_allow_chat: boolean, 
/**
 * When it is denied by itself, Unix milliseconds.
 */
expires_at_ms: number, };

export type PromptDetail = { 
/**
 * What it is: "argument", "folder", "program"…
 */
label: string, 
/**
 * Its value, made safe to show.
 */
value: string, };

export type PromptAnswer = "allow_once" | "allow_chat" | "deny";

export type ActivityRow = { 
/**
 * Counts up.
 */
number: number, 
/**
 * Unix milliseconds.
 */
at_ms: number, 
/**
 * The chat, if any.
 */
session_id: string | null, 
/**
 * Operation or event name, as in the audit log.
 */
operation: string, 
/**
 * What it was about, safe to show: a path, a program.
 */
subject: string, 
/**
 * It worked.
 */
ok: boolean, 
/**
 * The error code, when it did not.
 */
error_code: string | null, 
/**
 * How long it took.
 */
duration_ms: number, 
/**
 * Why it was allowed or refused.
 */
why: string | null, };

export type AuditView = { 
/**
 * Its file.
 */
path: string, 
/**
 * Bytes in the current file.
 */
bytes: number, 
/**
 * Records in the current file.
 */
records: number, 
/**
 * It cannot be written: nothing is done.
 */
unavailable: boolean, };

export type UndoView = { 
/**
 * Number, counts up.
 */
number: number, 
/**
 * Unix milliseconds.
 */
at_ms: number, 
/**
 * The chat.
 */
session_id: string | null, 
/**
 * "write", "delete" or "move".
 */
kind: string, 
/**
 * The path concerned, safe to show.
 */
path: string, 
/**
 * Where it went, for a move.
 */
moved_to: string | null, 
/**
 * Bytes kept.
 */
bytes: number, 
/**
 * It was taken back already.
 */
restored: boolean, };

export type ExplainView = { 
/**
 * Name of the operation, as in the audit log.
 */
operation: string, 
/**
 * The power that covers it; none when it only takes away.
 */
power: string | null, 
/**
 * "allow", "ask" or "deny".
 */
decision: string, 
/**
 * Stable name of the rule that won.
 */
rule: string, 
/**
 * The reason in words.
 */
why: string, };

export type Command = { "command": "set_raised", 
/**
 * The state wanted.
 */
raised: boolean, } | { "command": "set_power", 
/**
 * Name of the power.
 */
power: string, 
/**
 * Name of the mode.
 */
mode: string, } | { "command": "set_shell", 
/**
 * "confined" or "full".
 */
mode: string, 
/**
 * "none", "loopback" or "all".
 */
network: string, } | { "command": "sign_in" } | { "command": "paste_redirect", 
/**
 * The whole address.
 */
address: string, } | { "command": "cancel_sign_in" } | { "command": "sign_out" } | { "command": "connect" } | { "command": "prompt_painted", 
/**
 * Its number.
 */
id: number, } | { "command": "answer_prompt", 
/**
 * Its number.
 */
id: number, 
/**
 * The answer.
 */
answer: PromptAnswer, } | { "command": "detach", 
/**
 * The chat.
 */
session_id: string, } | { "command": "forget", 
/**
 * The chat.
 */
session_id: string, } | { "command": "undo_list", 
/**
 * Only this chat.
 */
session_id: string | null, } | { "command": "undo_restore", 
/**
 * Their numbers.
 */
numbers: number[], } | { "command": "audit_rotate" } | { "command": "audit_prune", 
/**
 * The age in seconds.
 */
older_than_seconds: number, } | { "command": "explain", 
/**
 * Their names, as in the audit log.
 */
operations: Array<string>, 
/**
 * Asked for by this chat.
 */
session_id: string | null, } | { "command": "shutdown" };

export type Reply = { "reply": "done" } | { "reply": "authorize_url", 
/**
 * Its address.
 */
url: string, } | { "reply": "undo", 
/**
 * Newest first.
 */
entries: Array<UndoView>, } | { "reply": "pruned", 
/**
 * Oldest first.
 */
files: Array<string>, } | { "reply": "explained", 
/**
 * In the order asked for.
 */
explanations: Array<ExplainView>, } | { "reply": "rotated", 
/**
 * Its path.
 */
path: string, };

export type CommandError = { 
/**
 * A stable name, for example `unknown_chat`.
 */
code: string, 
/**
 * What happened, what it means, what to do next.
 */
message: string, };
