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
 * The latest acts of this run, newest first, at most 50. The audit log has them all.
 */
activity: Array<ActivityRow>, 
/**
 * How the audit log is.
 */
audit: AuditView, 
/**
 * Whether the program can be seen while no window is open.
 */
tray: TrayState, 
/**
 * What was allowed beyond the modes of the powers: for a chat, or always.
 */
rules: Array<RuleView>, 
/**
 * The folder that the person picked for the next chat, safe to show.
 */
offered_folder: string | null, 
/**
 * Folders in which agents may look for one to attach, safe to show. Empty means the home folder.
 */
browse_roots: Array<string>, 
/**
 * How fast the last raise of this run was.
 */
last_raise: RaiseView | null, 
/**
 * What the person should know and what stops nothing.
 */
notices: Array<Notice>, 
/**
 * Counts how often somebody wanted to see the window: a second start of the program.
 */
window_wanted: number, 
/**
 * Why no engine runs behind this picture, if so. Then nothing else in it means anything, and only the commands of
 * [`GateView`] do something.
 */
gate: GateView | null, 
/**
 * All accounts, the one in use first.
 */
accounts: Array<AccountRow>, 
/**
 * Why no other account can be used in this run, if so: "run": a flag or the environment names the platform. "practice":
 * a trial. "organisation": it has fixed the platform.
 */
accounts_fixed?: string, 
/**
 * Where secrets rest.
 */
secrets: SecretsView, 
/**
 * What an organisation has fixed on this computer, if anything.
 */
managed: ManagedView | null, 
/**
 * How agents see and use screen, input and clipboard.
 */
screen: ScreenView, 
/**
 * Servers of local models, and what used them.
 */
models: ModelsView, 
/**
 * Devices on the desk.
 */
devices: DevicesView, };

export type Notice = { 
/**
 * A stable name.
 */
code: string, 
/**
 * The message.
 */
message: string, };

export type AccountState = "signed_out" | "signing_in" | "signed_in" | "expired" | "refused";

export type AccountView = { 
/**
 * Its state.
 */
state: AccountState, 
/**
 * Its stable id, as in [`AccountRow`].
 */
id: string, 
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
problem: string | null, 
/**
 * Its stable name.
 */
problem_code?: string, 
/**
 * Whom the tokens are for that are kept and not used, if there are such, safe to show.
 */
kept_for?: string, };

export type LinkState = "off" | "connecting" | "connected" | "waiting" | "halted";

export type LinkView = { 
/**
 * Its state.
 */
state: LinkState, 
/**
 * Why it waits or halted, in words.
 */
reason: string | null, 
/**
 * The stable name of that.
 */
code?: string, };

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
 * It has its folder. If not, the platform may still open it again by its grant, until the person forgets it.
 */
attached: boolean, 
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
last_used_ms: number, 
/**
 * When the folder was attached, Unix milliseconds.
 */
attached_ms: number, 
/**
 * Name of the last operation of this run.
 */
last_operation: string | null, 
/**
 * Changes that can be taken back.
 */
changes: ChangeCounts, 
/**
 * Powers that the chat has used in this run.
 */
powers_used: Array<string>, 
/**
 * Modes that hold for this chat alone.
 */
modes: Array<ChatModeView>, 
/**
 * Whether contents of files stay here, and what was asked about them.
 */
privacy: ChatPrivacyView, };

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
 * How far it may go at most, if somebody fixed that.
 */
ceiling?: CeilingView, 
/**
 * This version can really do it.
 */
built: boolean, 
/**
 * Operations of it that run now.
 */
running: number, };

export type CeilingView = { 
/**
 * Its loosest mode, as in [`PowerView`].
 */
mode: string, 
/**
 * Who says so, safe to show.
 */
by: string, };

export type ShellCeilingView = { 
/**
 * Who says so, safe to show.
 */
by: string, 
/**
 * Commands may not be given everything that the person can do.
 */
confined_only: boolean, 
/**
 * The most that a confined command may reach, as in [`ShellView`], if that is fixed.
 */
network: string | null, };

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
confinement_missing: string | null, 
/**
 * How far that may go at most, if somebody fixed it.
 */
ceiling?: ShellCeilingView, };

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
 * Rises when what is shown changes, and each change must be painted before an answer counts.
 */
revision: number, 
/**
 * Exact facts, each safe to show: label and value.
 */
details: Array<PromptDetail>, 
/**
 * The words of a command, each safe to show, the program first. Empty for a text that a shell parses.
 */
argv: Array<string>, 
/**
 * What an overwrite changes.
 */
diff: DiffView | null, 
/**
 * The folder that would be attached, safe to show.
 */
folder: string | null, 
/**
 * The person may pick another folder.
 */
can_choose_folder: boolean, 
/**
 * Not all of what was asked for is shown, so it can only be denied.
 */
cut: boolean, 
/**
 * "Allow for this chat" may be offered.
 */
can_allow_chat: boolean, 
/**
 * The command that "Always allow" would allow from then on, word by word; none when that may not be offered.
 */
always: Array<string> | null, 
/**
 * Requests that wait for this answer.
 */
waiting: number, 
/**
 * Nothing has painted it for three seconds: it must be brought before the person in another way.
 */
unseen: boolean, 
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

export type PromptAnswer = "allow_once" | "allow_chat" | "allow_always" | "deny";

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
why: WhyView | null, 
/**
 * Number of its audit record.
 */
seq: number | null, 
/**
 * Stable name of the audit file that holds the record: numbers begin anew in each.
 */
file?: string, };

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
 * The mode that decided, if one did.
 */
mode: string | null, 
/**
 * Who switched the power off, if somebody did.
 */
by: string | null, 
/**
 * The reason in words.
 */
why: string, 
/**
 * What may decide otherwise for one chat or for one command, newest first. The decision above is that for a chat without
 * modes of its own when none is named, and for a command that no rule allows.
 */
rules?: Array<RuleView>, };

export type TrayState = "unknown" | "none" | "shown";

export type RaiseView = { 
/**
 * When it was asked for, Unix milliseconds.
 */
at_ms: number, 
/**
 * Milliseconds until the stop was stored.
 */
stored_ms: number, 
/**
 * Milliseconds until every link was closed and every process had ended.
 */
ended_ms: number, };

export type RuleView = { 
/**
 * Its name, for removing it.
 */
id: string, 
/**
 * `chat_power`: a power for one chat. "command": a command pattern. `chat_mode`: the mode of a power in one chat; only in
 * explanations, since a chat tells its modes itself.
 */
kind: string, 
/**
 * The chat it holds for; none means always.
 */
session_id: string | null, 
/**
 * The folder of that chat, safe to show.
 */
folder: string | null, 
/**
 * The power concerned.
 */
power: string, 
/**
 * The mode, for the mode of a power in one chat.
 */
mode?: string, 
/**
 * The resolved program of a command rule, safe to show.
 */
program: string | null, 
/**
 * The words of a command rule, each safe to show; `*` alone stands for any one word.
 */
words: Array<string>, 
/**
 * Any further words may follow.
 */
any_more: boolean, 
/**
 * "answered": by a question. "window": set in the window.
 */
origin: string, 
/**
 * When, Unix milliseconds.
 */
at_ms: number, };

export type WhyView = { 
/**
 * "allow", "ask" or "deny".
 */
decision: string, 
/**
 * Stable name of the rule that won.
 */
rule: string, 
/**
 * The power concerned.
 */
power: string | null, 
/**
 * The mode that decided, if one did.
 */
mode: string | null, 
/**
 * Who switched the power off, if somebody did.
 */
by: string | null, 
/**
 * Names of the command rules that decided, joined by `+`.
 */
id?: string, 
/**
 * The reason in words, in English.
 */
text: string, };

export type ChangeCounts = { 
/**
 * New files.
 */
created: number, 
/**
 * Files with new content.
 */
written: number, 
/**
 * Things moved.
 */
moved: number, 
/**
 * Things deleted.
 */
deleted: number, };

export type ChatModeView = { 
/**
 * The power.
 */
power: string, 
/**
 * Its mode.
 */
mode: string, };

export type DiffView = { 
/**
 * Changed lines with some around them.
 */
lines: Array<DiffLine>, 
/**
 * Lines added in all.
 */
added: number, 
/**
 * Lines removed in all.
 */
removed: number, 
/**
 * Not everything is shown.
 */
cut: boolean, };

export type DiffLine = { 
/**
 * "same", "added", "removed" or "skipped".
 */
kind: string, 
/**
 * Number in the old file, from 1.
 */
old: number | null, 
/**
 * Number in the new file, from 1.
 */
new: number | null, 
/**
 * The line, safe to show.
 */
text: string, };

export type ActivityFilter = { 
/**
 * Of this chat.
 */
session_id: string | null, 
/**
 * Of this power.
 */
power: string | null, 
/**
 * "ok" or "refused".
 */
outcome: string | null, 
/**
 * With this text, in any case of letters, in the operation, the subject or the error code.
 */
text: string | null, };

export type RecordView = { 
/**
 * Its number.
 */
seq: number, 
/**
 * Unix milliseconds.
 */
at_ms: number, 
/**
 * Its fields, each safe to show, in the order of the file; nested ones by dotted names.
 */
fields: Array<PromptDetail>, 
/**
 * Why it was allowed or refused then.
 */
why: WhyView | null, 
/**
 * What the decision function says about the same kind of operation now.
 */
now: ExplainView | null, };

export type VerifyView = { 
/**
 * Nothing is wrong.
 */
sound: boolean, 
/**
 * Files looked at.
 */
files: number, 
/**
 * Records looked at.
 */
records: number, 
/**
 * What is wrong: "kind" of the finding and the place, safe to show.
 */
findings: Array<PromptDetail>, };

export type GateKind = "passphrase_wanted" | "keychain_locked" | "no_keychain" | "broken_file" | "other";

export type GateView = { 
/**
 * What is in the way.
 */
kind: GateKind, 
/**
 * What happened, what it means, what to do next.
 */
message: string, 
/**
 * The file concerned, safe to show.
 */
path: string | null, 
/**
 * [`crate::Command::GateNewFile`] may make an encrypted file for secrets.
 */
can_make_file: boolean, 
/**
 * [`crate::Command::GateSetAside`] may set the file aside.
 */
can_set_aside: boolean, 
/**
 * [`crate::Command::GateAskKeychain`] may let the keychain ask the person to open it.
 */
can_ask_keychain: boolean, 
/**
 * What the last attempt came to, in words.
 */
problem: string | null, 
/**
 * Its stable name, as a command's refusal has it.
 */
problem_code: string | null, 
/**
 * An attempt is under way.
 */
busy: boolean, };

export type AccountRow = { 
/**
 * Its stable id: `default`, or as it was named.
 */
id: string, 
/**
 * The person's name for it, safe to show.
 */
name: string, 
/**
 * The platform's address.
 */
platform_url: string, 
/**
 * The OAuth client id.
 */
client_id: string, 
/**
 * It is the one in use.
 */
active: boolean, 
/**
 * Tokens are kept for it.
 */
signed_in: boolean, 
/**
 * The configuration or an organisation names it, so it cannot be removed here.
 */
fixed: boolean, };

export type SecretsView = { 
/**
 * "keychain" or "file"; empty while nobody knows.
 */
place: string, 
/**
 * Where they can be moved: "keychain" or "file".
 */
movable_to: string | null, };

export type ManagedView = { 
/**
 * The organisation's name, safe to show, if it gave one.
 */
organisation: string | null, 
/**
 * The file.
 */
path: string, 
/**
 * Names of what is fixed, as in the file: `platform_url`, `powers.shell`, `updates`…
 */
locked: Array<string>, 
/**
 * Keys of the configuration that somebody had set otherwise; that does not count.
 */
overruled: Array<string>, };

export type MissingView = { 
/**
 * The feature, as HELLO names it.
 */
feature: string, 
/**
 * Why, and what to do about it; safe to show.
 */
why: string, };

export type ScreenUseView = { 
/**
 * The chat that did so last.
 */
session_id: string | null, 
/**
 * Since when, Unix milliseconds.
 */
since_ms: number, 
/**
 * Pictures taken since then.
 */
pictures: number, 
/**
 * Clicks, keys, texts and other acts since then.
 */
acts: number, 
/**
 * The person uses pointer or keyboard, so the agent's input waits.
 */
person_active: boolean, };

export type ScreenView = { 
/**
 * "x11", "wayland", "wsl", "macos", "windows" or "none".
 */
seat: string, 
/**
 * What can be done here, as HELLO names it. Empty while both powers are off.
 */
features: Array<string>, 
/**
 * What cannot be done here, and why.
 */
missing: Array<MissingView>, 
/**
 * Only these apps may be seen and used; none means all that are not protected.
 */
only_apps: Array<string> | null, 
/**
 * These apps may never be seen or used, on top of the protected ones.
 */
never_apps: Array<string>, 
/**
 * Pictures of scaled displays keep all their pixels.
 */
full_resolution: boolean, 
/**
 * The clipboard power also covers what others put there.
 */
clipboard_foreign: boolean, 
/**
 * An agent sees or uses the screen now, or did a moment ago.
 */
in_use: ScreenUseView | null, };

export type ModelsView = { 
/**
 * Servers that may be asked, best first.
 */
servers: Array<ModelServerView>, 
/**
 * Who asked what in this run, the latest first.
 */
uses: Array<ModelUseView>, 
/**
 * Contents of files stay here in every chat for which nothing else is said.
 */
private_all: boolean, 
/**
 * The person reads what a model answers about private files before it leaves.
 */
review: boolean, 
/**
 * So many first bytes may leave with the description of a private file.
 */
preview_bytes: number, };

export type ModelServerView = { 
/**
 * Its base address, which also names it.
 */
url: string, 
/**
 * "ollama", "openai", or "auto" while nobody knows.
 */
api: string, 
/**
 * What it calls itself, safe to show.
 */
name: string | null, 
/**
 * The configuration names it, so it cannot be removed here.
 */
from_config: boolean, 
/**
 * It may be on another computer.
 */
far: boolean, 
/**
 * Requests it takes at once.
 */
parallel: number, 
/**
 * It has answered. Nobody is asked while the power is off, so then it says nothing.
 */
answers: boolean, 
/**
 * Why it cannot be asked, with what to do; safe to show.
 */
trouble: string | null, 
/**
 * Its models.
 */
models: Array<ModelView>, 
/**
 * Requests that run there now.
 */
running: number, 
/**
 * A key is set for it. The key itself is in no picture.
 */
has_key: boolean, };

export type ModelView = { 
/**
 * Its name, safe to show.
 */
name: string, 
/**
 * Size on disk in bytes, where the server tells.
 */
size_bytes: number | null, 
/**
 * Tokens that it can read, where the server tells.
 */
context_tokens: number | null, 
/**
 * The server passes what it is asked on to another computer.
 */
elsewhere: boolean, 
/**
 * The server lists it and said that it does not have it when it was asked.
 */
missing: boolean, 
/**
 * It can be asked by this name: another server has not taken it before, it is not missing, and it is here or questions may leave.
 */
offered: boolean, };

export type ModelUseView = { 
/**
 * The model, safe to show.
 */
model: string, 
/**
 * The chat; none for the person's own tries.
 */
session_id: string | null, 
/**
 * Conversations that were continued.
 */
completions: number, 
/**
 * Questions about private files.
 */
turns: number, 
/**
 * Tokens read and written, as far as servers told.
 */
tokens: number, 
/**
 * When it was asked last, Unix milliseconds.
 */
last_ms: number, };

export type TrialView = { 
/**
 * What came so far, safe to show.
 */
text: string, 
/**
 * "running", "done", "stopped" or "failed".
 */
state: string, 
/**
 * Why it failed, with what to do.
 */
problem: string | null, 
/**
 * Why the model ended.
 */
finish: string | null, 
/**
 * Tokens of the answer, where the server tells.
 */
tokens: number | null, 
/**
 * How long it took so far, in milliseconds.
 */
duration_ms: number, };

export type ChatPrivacyView = { 
/**
 * They do.
 */
on: boolean, 
/**
 * What was said for this chat; none follows the setting for all.
 */
own: boolean | null, 
/**
 * Other chats with a folder that holds the same files, in which contents may leave.
 */
open_elsewhere: Array<string>, 
/**
 * Files that were asked about in this run, the latest first, at most 100.
 */
asked: Array<AskedFileView>, };

export type AskedFileView = { 
/**
 * Its path, safe to show.
 */
path: string, 
/**
 * So often it was described.
 */
stubs: number, 
/**
 * So many questions were about it.
 */
turns: number, 
/**
 * When it was asked about last, Unix milliseconds.
 */
last_ms: number, };

export type DevicesView = { 
/**
 * Those that are there, and those that are shared and away.
 */
devices: Array<DeviceView>, 
/**
 * They were looked for. Nobody looks while the power is off, unless the person asks.
 */
looked: boolean, };

export type DeviceView = { 
/**
 * Its name for sharing.
 */
id: string, 
/**
 * "serial", "usb" or "gpio".
 */
kind: string, 
/**
 * Where it is, safe to show: a port, "2341:0043, bus 1", a chip. Empty while it is away.
 */
place: string, 
/**
 * In words, safe to show.
 */
description: string, 
/**
 * It is there.
 */
present: boolean, 
/**
 * The person shared it.
 */
shared: boolean, 
/**
 * The configuration shares it, so it cannot be taken back here.
 */
from_config: boolean, 
/**
 * The person named this port by path, as it stands here; safe to show.
 */
added: string | null, 
/**
 * Why this user cannot open it, with what to do; safe to show.
 */
denied: string | null, 
/**
 * Who has it open: "cli" for the command line, or a chat.
 */
held_by: string | null, 
/**
 * How it is open, in words.
 */
how: string | null, 
/**
 * The entry of the configuration that shares it, as it stands there; safe to show. Where nothing that is here matches it, this
 * row is all that tells of it, and its name is the entry.
 */
entry: string | null, 
/**
 * Lines of a GPIO chip that have names.
 */
lines: Array<LineNameView>, };

export type LineNameView = { 
/**
 * Its number on the chip.
 */
number: number, 
/**
 * What the board calls it, safe to show.
 */
name: string, };

export type DeviceAct = { "act": "serial_open", 
/**
 * Bits a second, 50 to 4,000,000.
 */
baud: number, 
/**
 * 5 to 8.
 */
data_bits: number, 
/**
 * "none", "even" or "odd".
 */
parity: string, 
/**
 * 1 or 2.
 */
stop_bits: number, 
/**
 * "none", "software" or "hardware".
 */
flow: string, } | { "act": "serial_write", 
/**
 * At most 64 KiB.
 */
data: string, } | { "act": "serial_read", 
/**
 * Until these bytes have come; at most 1 KiB.
 */
until: string | null, 
/**
 * At most so many bytes, 1 to 1 MiB.
 */
max_bytes: number, 
/**
 * At most so long, up to 60 s.
 */
timeout_ms: number, } | { "act": "serial_lines", 
/**
 * Data terminal ready; none leaves it.
 */
dtr: boolean | null, 
/**
 * Request to send; none leaves it.
 */
rts: boolean | null, 
/**
 * A break of so long, 1 to 5000 ms.
 */
break_ms: number | null, } | { "act": "serial_close" } | { "act": "usb_describe" } | { "act": "usb_control", 
/**
 * `bmRequestType`.
 */
request_type: number, 
/**
 * `bRequest`.
 */
request: number, 
/**
 * `wValue`.
 */
value: number, 
/**
 * `wIndex`.
 */
index: number, 
/**
 * What goes out, at most 64 KiB less one byte.
 */
out: string | null, 
/**
 * Or so many bytes may come in.
 */
max_bytes: number | null, 
/**
 * At most so long, 1 ms to 60 s.
 */
timeout_ms: number, } | { "act": "usb_transfer", 
/**
 * The end point's address with its direction bit.
 */
endpoint: number, 
/**
 * What goes out, at most 64 KiB.
 */
out: string | null, 
/**
 * Or so many bytes may come in, up to 1 MiB.
 */
max_bytes: number | null, 
/**
 * At most so long, 1 ms to 60 s.
 */
timeout_ms: number, } | { "act": "gpio_read", 
/**
 * Its number on the chip.
 */
line: number, 
/**
 * "as_is", "up", "down" or "none".
 */
bias: string, } | { "act": "gpio_write", 
/**
 * Its number on the chip.
 */
line: number, 
/**
 * High.
 */
high: boolean, } | { "act": "gpio_watch", 
/**
 * Its number on the chip.
 */
line: number, 
/**
 * "as_is", "up", "down" or "none".
 */
bias: string, 
/**
 * "rising", "falling" or "both".
 */
edge: string, 
/**
 * At most so many, 1 to 10,000.
 */
max_events: number, 
/**
 * At most so long, 1 ms to 60 s.
 */
timeout_ms: number, } | { "act": "gpio_release", 
/**
 * Its number on the chip.
 */
line: number, };

export type DeviceResult = { "result": "done" } | { "result": "written", 
/**
 * Bytes.
 */
bytes: number, } | { "result": "read", 
/**
 * They.
 */
data: string, 
/**
 * Why reading ended: "pattern", "length" or "timeout".
 */
ended: string, 
/**
 * So many bytes were lost before these.
 */
lost: number, 
/**
 * So many more wait.
 */
waiting: number, } | { "result": "lines", 
/**
 * Clear to send.
 */
cts: boolean, 
/**
 * Data set ready.
 */
dsr: boolean, 
/**
 * Ring indicator.
 */
ring: boolean, 
/**
 * Carrier detect.
 */
carrier: boolean, } | { "result": "described", 
/**
 * It.
 */
usb: UsbView, } | { "result": "received", 
/**
 * They.
 */
data: string, } | { "result": "level", 
/**
 * It is high.
 */
high: boolean, } | { "result": "events", 
/**
 * They.
 */
events: Array<LineEventView>, 
/**
 * So many more came before the last of them and were lost.
 */
lost: number, };

export type UsbView = { 
/**
 * Vendor id, four hex digits.
 */
vendor: string, 
/**
 * Product id, four hex digits.
 */
product: string, 
/**
 * USB version.
 */
usb_version: string, 
/**
 * Class, subclass, protocol.
 */
class: [number, number, number], 
/**
 * Its maker in its own words, safe to show.
 */
manufacturer: string | null, 
/**
 * Its name in its own words, safe to show.
 */
product_name: string | null, 
/**
 * Its interfaces.
 */
interfaces: Array<UsbInterfaceView>, };

export type UsbInterfaceView = { 
/**
 * Its number.
 */
number: number, 
/**
 * Class, subclass, protocol.
 */
class: [number, number, number], 
/**
 * A driver of the system has it.
 */
driver_active: boolean, 
/**
 * Its end points.
 */
endpoints: Array<UsbEndpointView>, };

export type UsbEndpointView = { 
/**
 * Its address with its direction bit.
 */
address: number, 
/**
 * "control", "isochronous", "bulk" or "interrupt".
 */
transfer: string, 
/**
 * The largest packet in bytes.
 */
max_packet: number, };

export type LineEventView = { 
/**
 * Low to high.
 */
rising: boolean, 
/**
 * Microseconds since the watching began.
 */
at_us: number, };

export type FindingState = "ok" | "info" | "warn" | "fail";

export type Finding = { 
/**
 * A stable name of what was looked at. Several findings can have one name.
 */
check: string, 
/**
 * How it went.
 */
state: FindingState, 
/**
 * What was found, safe to show, in English.
 */
text: string, 
/**
 * What to do, safe to show, if there is something to do.
 */
fix: string | null, 
/**
 * What the window can do about it at once: a stable name (see [`ACTIONS`]).
 */
action: string | null, 
/**
 * The stable name of what was found. The page has its text and its fix in the person's language.
 */
key: string, 
/**
 * What the text names, safe to show.
 */
params: { [key in string]: string }, };

export type Prefs = { 
/**
 * "system", "light" or "dark".
 */
theme: string, 
/**
 * "system", or the tag of a language: "en", "de".
 */
language: string, 
/**
 * Size of everything, in percent: 50 to 300.
 */
zoom: number, 
/**
 * Step of the first run that comes next, from 0; [`Prefs::FIRST_RUN_STEPS`] when it is done.
 */
first_run: number, 
/**
 * Raising by a key from anywhere.
 */
hot_key: boolean, 
/**
 * Notifications of the desktop.
 */
notifications: boolean, 
/**
 * Inner width and height of the window, in logical pixels.
 */
size: [number, number] | null, 
/**
 * The window stayed blank on this machine until drawing by DMA-BUF was switched off.
 */
plain_drawing: boolean, 
/**
 * The practice platform inside the program is the platform.
 */
practice: boolean, 
/**
 * Which updates are offered: "stable" or "beta".
 */
update_channel: string, 
/**
 * Looks for updates by itself.
 */
check_updates: boolean, };

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
network: string, } | { "command": "set_screen", 
/**
 * Only these; none means all that are not protected.
 */
only_apps: Array<string> | null, 
/**
 * Never these.
 */
never_apps: Array<string>, 
/**
 * Pictures of scaled displays keep all their pixels.
 */
full_resolution: boolean, } | { "command": "set_clipboard_foreign", 
/**
 * Also what others put there.
 */
on: boolean, } | { "command": "add_model_server", 
/**
 * Its base address.
 */
url: string, 
/**
 * "auto", "ollama" or "openai".
 */
api: string, 
/**
 * It may be on another computer: prompts go there, and private files never.
 */
far: boolean, 
/**
 * Requests it takes at once, 1 to 16.
 */
parallel: number, } | { "command": "set_model_key", 
/**
 * The server's base address.
 */
url: string, 
/**
 * The key; none forgets it.
 */
key: string | null, } | { "command": "remove_model_server", 
/**
 * Its base address.
 */
url: string, } | { "command": "find_model_servers" } | { "command": "look_at_models" } | { "command": "try_model", 
/**
 * The model.
 */
model: string, 
/**
 * The question.
 */
text: string, } | { "command": "trial_text", 
/**
 * Its number.
 */
id: number, } | { "command": "stop_trial", 
/**
 * Its number.
 */
id: number, } | { "command": "set_privacy", 
/**
 * The chat; none means all.
 */
session_id: string | null, 
/**
 * Kept here. None takes back what was said for a chat.
 */
on: boolean | null, } | { "command": "set_privacy_review", 
/**
 * They do.
 */
on: boolean, } | { "command": "set_privacy_preview", 
/**
 * So many.
 */
bytes: number, } | { "command": "look_at_devices" } | { "command": "share_device", 
/**
 * Its name.
 */
id: string, 
/**
 * Shared.
 */
shared: boolean, } | { "command": "add_port", 
/**
 * Its path.
 */
path: string, } | { "command": "remove_port", 
/**
 * Its path, as the picture names it.
 */
path: string, } | { "command": "use_device", 
/**
 * Its name.
 */
device: string, 
/**
 * What to do.
 */
act: DeviceAct, } | { "command": "sign_in" } | { "command": "paste_redirect", 
/**
 * The whole address.
 */
address: string, } | { "command": "cancel_sign_in" } | { "command": "sign_out" } | { "command": "connect" } | { "command": "prompt_painted", 
/**
 * Its number.
 */
id: number, 
/**
 * Which state of it.
 */
revision: number, } | { "command": "answer_prompt", 
/**
 * Its number.
 */
id: number, 
/**
 * Which state of it was read: an answer to anything else does not count.
 */
revision: number, 
/**
 * The answer.
 */
answer: PromptAnswer, } | { "command": "deny_prompts" } | { "command": "choose_folder", 
/**
 * The question.
 */
id: number, 
/**
 * The folder.
 */
path: string, } | { "command": "offer_folder", 
/**
 * The folder; none takes back.
 */
path: string | null, } | { "command": "add_browse_root", 
/**
 * The folder.
 */
path: string, } | { "command": "remove_browse_root", 
/**
 * The folder, as the picture names it.
 */
path: string, } | { "command": "set_chat_power", 
/**
 * The chat.
 */
session_id: string, 
/**
 * Name of the power.
 */
power: string, 
/**
 * Name of the mode; none takes back.
 */
mode: string | null, } | { "command": "remove_rule", 
/**
 * Its name.
 */
id: string, } | { "command": "set_rule", 
/**
 * Its name.
 */
id: string, 
/**
 * The words after the program; `*` alone stands for any one word.
 */
words: Array<string>, 
/**
 * Any further words may follow.
 */
any_more: boolean, } | { "command": "settings_afresh" } | { "command": "report_tray", 
/**
 * Its state.
 */
tray: TrayState, } | { "command": "show_window" } | { "command": "detach", 
/**
 * The chat.
 */
session_id: string, } | { "command": "forget", 
/**
 * The chat.
 */
session_id: string, } | { "command": "forget_closed" } | { "command": "undo_list", 
/**
 * Only this chat.
 */
session_id: string | null, } | { "command": "undo_restore", 
/**
 * Their numbers.
 */
numbers: number[], } | { "command": "undo_restore_chat", 
/**
 * The chat.
 */
session_id: string, } | { "command": "activity_page", 
/**
 * Which.
 */
filter: ActivityFilter, 
/**
 * So many are left out.
 */
skip: number, 
/**
 * At most so many, 1 to 500.
 */
limit: number, } | { "command": "audit_record", 
/**
 * Its number.
 */
seq: number, 
/**
 * Its file, as its row names it. Without it the newest record of this number is shown.
 */
file?: string, } | { "command": "audit_verify" } | { "command": "audit_export", 
/**
 * The new file.
 */
path: string, } | { "command": "audit_rotate" } | { "command": "audit_prune", 
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
session_id: string | null, } | { "command": "add_account", 
/**
 * The person's name for it: 1 to 40 characters.
 */
name: string, 
/**
 * The platform's address.
 */
platform_url: string, 
/**
 * The OAuth client id; none means the usual one.
 */
client_id: string | null, } | { "command": "use_account", 
/**
 * Its id.
 */
id: string, } | { "command": "remove_account", 
/**
 * Its id.
 */
id: string, } | { "command": "forget_tokens" } | { "command": "move_secrets", 
/**
 * "keychain" or "file".
 */
to: string, 
/**
 * The passphrase of the file, where secrets move into one or out of one.
 */
passphrase: string | null, } | { "command": "gate_unlock", 
/**
 * Its passphrase.
 */
passphrase: string, } | { "command": "gate_new_file", 
/**
 * Its passphrase.
 */
passphrase: string, } | { "command": "gate_set_aside" } | { "command": "gate_retry" } | { "command": "gate_ask_keychain" } | { "command": "shutdown" };

export type Reply = { "reply": "done" } | { "reply": "authorize_url", 
/**
 * Its address.
 */
url: string, } | { "reply": "undo", 
/**
 * Newest first.
 */
entries: Array<UndoView>, } | { "reply": "activity", 
/**
 * Newest first.
 */
rows: Array<ActivityRow>, 
/**
 * So many fit the filter in all.
 */
total: number, 
/**
 * So many lines of the log are no records and were passed over.
 */
unreadable: number, } | { "reply": "record", 
/**
 * It.
 */
record: RecordView, } | { "reply": "verified", 
/**
 * It.
 */
report: VerifyView, } | { "reply": "exported", 
/**
 * Its file.
 */
path: string, 
/**
 * Records in it.
 */
records: number, } | { "reply": "restored", 
/**
 * So many changes.
 */
count: number, 
/**
 * What could not be, each with its reason: path and words.
 */
failed: Array<PromptDetail>, } | { "reply": "pruned", 
/**
 * Oldest first.
 */
files: Array<string>, } | { "reply": "explained", 
/**
 * In the order asked for.
 */
explanations: Array<ExplainView>, } | { "reply": "model_servers", 
/**
 * They.
 */
servers: Array<ModelServerView>, } | { "reply": "trial", 
/**
 * Its number.
 */
id: number, } | { "reply": "trial_text", 
/**
 * It.
 */
trial: TrialView, } | { "reply": "device", 
/**
 * It.
 */
result: DeviceResult, } | { "reply": "rotated", 
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
