// Shows what a machine answered, in words first and as it came below.
const el = (id) => document.getElementById(id);
const SHOWN = 200000;

const failures = {
  not_connected: ["Nothing is connected there", "Is Drawbridge running and signed in, and is its bridge lowered? Its connection to this chat or computer is gone."],
  timed_out: ["No answer in time", "The platform stopped waiting, as the real one does. The request may still have been done; look before you ask again."],
  overloaded: ["No free slot", "The computer already works on as much as it takes at once. Wait a moment."],
  disconnected: ["The connection ended first", "It is not known whether the request was done. Look before you ask again."],
  mismatch: ["The answer does not fit", "It differs from what this platform has stored or is out of bounds, so it was not used."],
  unknown: ["This cannot be asked", "Something this request needs is missing."],
};
const reasons = {
  waiting_for_local_consent: ["Waiting for the person at the computer", "Drawbridge shows a question there. Answer it, then try again here."],
  declined: ["The person said no", "Ask again only if they want it."],
  no_ui: ["Nobody can be asked", "Drawbridge runs without a window. Allow this in its settings or start the desktop app."],
  stopped: ["Drawbridge is stopped", "Its bridge is raised. Lower it on the computer to go on."],
  revoked_locally: ["The folder was taken away on the computer", "Choose it again if you still need it."],
  is_directory: ["That is a folder", "This operation works on files."], not_directory: ["That is not a folder", ""],
  switched_off: ["That is switched off on the computer", "The person can switch it on in Drawbridge, under what agents may do."],
  password_manager: ["That app holds passwords", "No agent may see it or touch it."], lock_screen: ["The screen is locked", "Somebody has to unlock it."],
  drawbridge: ["That is Drawbridge itself", "No agent may see its windows or touch them."], not_listed: ["That app is not on the person's list", "They chose which apps agents may use."],
  excluded: ["The person keeps that app to themselves", ""], terminal: ["That is a terminal", "Terminals count as running commands, which must be allowed, too."],
  writeback_only: ["Only your own text may be read", "Write into the clipboard first; it can be read for 30 seconds."],
  writeback_overwritten: ["Somebody copied something else meanwhile", "Only what was written last by the agent may be read."],
  concealed_type: ["The clipboard holds a secret", "Its owner marked it as one."], no_such_monitor: ["There is no such screen", "Ask for the list of screens."],
  screenshots_per_minute: ["Too many pictures in this minute", "The limit counts all chats and failed attempts. Wait a little."],
  no_space: ["The disk is full", ""], permission_denied: ["The system does not permit it", "The file belongs to somebody else or is protected."],
  read_only: ["The place is read-only", ""], busy: ["The file is in use", "Try again in a moment."],
};
const codes = {
  CAPABILITY_NOT_GRANTED: ["Drawbridge does not allow this", "The person can allow it in Drawbridge, under what agents may do."],
  PATH_OUTSIDE_ALLOWED_ROOT: ["Outside the chat's folder", "That path leads out of the attached folder, so nothing was done."],
  PATH_NOT_FOUND: ["Nothing is there", "Check the path, or the folder it should be in."],
  PATH_EXISTS: ["Something is already there", "Switch on “overwrite” to replace it."],
  PATH_NOT_EMPTY: ["The folder is not empty", "Switch on “recursive” to delete what is in it, too."],
  PATH_INVALID_CHARS: ["The name has characters that are not possible", ""], PATH_RESERVED_NAME: ["The system reserves that name", ""],
  FILE_TOO_LARGE: ["Too large for one answer", "Ask for a part of it with offset and length."],
  SHIM_OVERLOADED: ["Too much at once", "Wait for something to finish, then try again."],
  SHELL_NOT_AVAILABLE: ["No such shell or program there", ""], COMMAND_TIMEOUT: ["The command took too long", ""],
  DIRECTORY_REFERENCE_INVALID: ["This list of folders is out of date", "Browse again from the start."],
  DIRECTORY_UNAVAILABLE: ["The folder is gone or cannot be read", "Choose another one."],
  SESSION_ALREADY_ACTIVE: ["The chat already works in a folder", "Take the folder away first."],
  SESSION_NOT_ATTACHED: ["The chat has no folder", "Choose one in step 3."],
  SESSION_REVISION_MISMATCH: ["The folder was attached anew meanwhile", "Choose it again."],
  ROOT_GRANT_INVALID: ["The folder's permission no longer holds", "The folder was moved, replaced or taken away. Choose it again."],
  INPUT_OUT_OF_BOUNDS: ["That point is on no screen", "The answer below names the screens."], WINDOW_STALE: ["That window is gone", "List the windows again."],
  PERMISSION_PENDING: ["Something on the computer stands in the way", ""], CLIPBOARD_CONCEALED: ["The clipboard may not be read", ""],
  FEATURE_NOT_SUPPORTED: ["This computer cannot do that", ""],
  PRIVACY_MODE_BLOCKED: ["The contents of files stay on that computer in this chat", "Have the file described instead, and ask the local model about it."],
  MODEL_NOT_AVAILABLE: ["That model is not there", "Choose one that the computer offers. It may have been removed since the connection began."],
  LOCAL_LLM_BUSY: ["The local model works on something else", "It takes one question at a time. Wait until the other answer is there."],
  LOCAL_LLM_FAILED: ["The local model failed", "Does its server still run on that computer?"],
  INTERNAL_ERROR: ["It did not work", ""],
};

const stale = {
  unknown: ["That description is no longer known there", "Descriptions are forgotten when the connection begins anew. Have the file described again."],
  changed: ["The file has changed since it was described", "Have it described again; the old description is of no more use."],
  gone: ["The file is gone", "It was there when it was described."],
};
const notPrivate = ["The contents of files may leave that computer in this chat", "Descriptions and questions about them are for chats in which they may not. The person switches that on in Drawbridge."];
const pending = {
  person_active: ["The person is at work there", "Their hands come first. Try again in a moment."], unlocked_session: ["The screen is locked", "Somebody has to unlock it."],
  screen_recording: ["The system does not let Drawbridge see the screen", "Allow it in the system's settings."],
  accessibility: ["The system does not let Drawbridge use mouse and keyboard", "Allow it in the system's settings."],
  elevated_window: ["That window belongs to an administrator", "Drawbridge cannot reach it."],
};
const facts = {
  path: "Path", is_file: "A file", is_dir: "A folder", is_symlink: "A link", size_bytes: "Size", mime_type: "Kind",
  mtime: "Changed", ctime: "Attributes changed", mode: "Permissions", owner_uid: "Owner's number", owner_gid: "Group's number",
};

/** What went wrong, as [title, what to do, the machine's own words, code]. */
export function explain(value) {
  const error = value.reply?.payload;
  if (error?.code) {
    const plain = error.code === "FEATURE_NOT_SUPPORTED" && /^(FILE_READ\.mode|LOCAL_LLM_TURN)$/.test(error.details?.feature);
    const stub = error.code === "STUB_STALE" ? stale[error.details?.reason] ?? stale.unknown : plain ? notPrivate : null;
    const [title, advice] = stub ?? reasons[error.details?.reason] ?? pending[error.details?.permission] ?? codes[error.code] ?? [error.code, ""];
    const hint = error.code === "PERMISSION_PENDING" ? error.details?.hint ?? advice : advice;
    return { title, hint, words: error.message ?? "", code: error.code };
  }
  const [title, hint] = failures[value.failure] ?? ["It did not work", ""];
  return { title, hint, words: value.text ?? "", code: value.failure ?? "" };
}

export function size(bytes) {
  if (bytes == null) return "";
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes / 1000, unit = 0;
  while (value >= 999.5 && unit < 3) { value /= 1000; unit += 1; }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
export function when(seconds) {
  return seconds == null ? "" : new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** An element with text and attributes. */
export function make(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text != null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
function block(label, text) {
  const cut = text.length > SHOWN;
  const parts = [make("p", label, { class: "label" }), make("pre", cut ? text.slice(0, SHOWN) : text, { tabindex: "0", "aria-label": label })];
  if (cut) parts.push(make("p", `Only the first ${SHOWN.toLocaleString()} characters are shown here.`, { class: "soft" }));
  return parts;
}
function table(rows) {
  const made = make("table"), body = make("tbody");
  for (const [name, value] of rows) { const row = make("tr"); row.append(make("th", name, { scope: "row" }), make("td", value)); body.append(row); }
  made.append(body);
  return made;
}

const ends = { stop: "The model was done.", length: "The length allowed was reached.", content_filter: "A filter ended it." };
/** How a model's answer ended, and what it took. */
export function ending(payload) {
  const { tokens, tokens_used: used, duration_seconds: seconds } = payload;
  const counted = tokens ? [tokens.prompt != null && `${tokens.prompt} tokens read`, tokens.completion != null && `${tokens.completion} written`] : [used != null && `${used} tokens`];
  const words = counted.filter(Boolean).join(", ") || "tokens not counted";
  return `${ends[payload.finish_reason] ?? payload.finish_reason} ${words[0].toUpperCase()}${words.slice(1)}, ${seconds} s.`;
}
function model(payload) {
  return [make("p", ending(payload)), ...block("What it said", payload.content ?? payload.output ?? "")];
}
const described = { path: "Path", size_bytes: "Size", mime_type: "Kind", sha256: "SHA-256", stub_id: "Its name from now on" };

/** A picture as an address of its own, or null when it is none that a page should show. */
export function image(payload) {
  const known = ["image/jpeg", "image/png"].includes(payload?.mime_type);
  return known && typeof payload.image_base64 === "string" ? `data:${payload.mime_type};base64,${payload.image_base64}` : null;
}
const yes = (value, word) => (value ? word : "");
const many = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
const together = (...words) => words.filter(Boolean).join(", ");
function desktop(type, payload) {
  if (type === "SCREENSHOT_RESPONSE") {
    const shown = make("img", null, { alt: "The picture that was taken", class: "shot" });
    shown.src = image(payload) ?? "";
    const { origin = [] } = payload.meta ?? {};
    return [make("p", `${payload.width} × ${payload.height} pixels, its corner at ${origin.join(", ")}, ${payload.display_scale} pixels a unit${yes(payload.meta?.one_colour, "; it has one single colour")}.`), shown];
  }
  if (type === "CURSOR_POSITION_RESPONSE") return [make("p", `The pointer is at ${payload.x}, ${payload.y} on screen ${payload.monitor}.`)];
  if (type === "DISPLAY_INFO_RESPONSE") return [table((payload.monitors ?? []).map((m) => [`Screen ${m.index}`, together(yes(m.primary, "the first one"), `${m.logical_size?.join(" × ")} at ${m.origin?.join(", ")}`, `scale ${m.scale}`)]))];
  if (type === "WINDOW_LIST_RESPONSE") return [make("p", `${many(payload.windows?.length ?? 0, "window")}${yes(payload.truncated, ", and more that are not listed")}.`), table((payload.windows ?? []).map((w) => [w.title || "(no title)", together(w.app_name, w.bounds?.join(", "), yes(w.is_focused, "has the keyboard"), yes(w.is_minimized, "minimised"), yes(w.is_fullscreen, "fills the screen"))]))];
  if (type === "APP_LIST_RESPONSE") return [table((payload.apps ?? []).map((a) => [a.name, together(a.bundle_id, a.executable_path, many(a.window_count, "window"), yes(a.is_frontmost, "in front"))]))];
  if (type === "PERMISSIONS_CHECK_RESPONSE") return [table(Object.entries(payload.permissions ?? {}).map(([name, value]) => [name.replaceAll("_", " "), String(value).replaceAll("_", " ")]))];
  if (type === "CLIPBOARD_READ_RESPONSE") return block(`Clipboard (${size(payload.size_bytes)})`, payload.content ?? "");
  return payload.pid == null ? [] : [make("p", `Its process is ${payload.pid}.`)];
}
function picture(type, payload) {
  if (/^LOCAL_LLM_/.test(type)) return model(payload);
  if (type === "FILE_CONTENTS" && payload.mode === "stub") {
    const text = (key, value) => (key === "size_bytes" ? `${size(value)} (${value} bytes)` : String(value ?? "unknown"));
    return [make("p", "Described without its content:"), table(Object.entries(described).map(([key, label]) => [label, text(key, payload[key])]))];
  }
  if (type === "FILE_CONTENTS") {
    const bytes = payload.encoding === "base64" ? " as base64" : "";
    const notes = [size(payload.size_bytes) + bytes, payload.truncated ? "there is more of it" : "", payload.lossy ? "some bytes are no text and show as �" : ""];
    return block(`Content (${notes.filter(Boolean).join(", ")})`, payload.content ?? "");
  }
  if (type === "COMMAND_RESULT") {
    const end = payload.timed_out ? "stopped by its time limit" : `exit code ${payload.exit_code}`;
    const parts = [make("p", `Ended with ${end} after ${payload.duration_seconds ?? "?"} s${payload.output_truncated ? "; the output was cut" : ""}.`.replace("with stopped", "because it was stopped"))];
    if (payload.stdout) parts.push(...block("Output", payload.stdout));
    if (payload.stderr) parts.push(...block("Errors and notes", payload.stderr));
    if (!payload.stdout && !payload.stderr) parts.push(make("p", "It printed nothing.", { class: "soft" }));
    return parts;
  }
  if (type === "FILE_LIST_RESPONSE") {
    const entries = payload.entries ?? [];
    const note = `${entries.length} entries${payload.truncated ? ", and more that are not listed" : ""}.`;
    return [make("p", note), table(entries.slice(0, 500).map((e) => [e.name + (e.is_dir ? "/" : ""), e.is_dir ? e.path : `${size(e.size_bytes)} - ${e.path}`]))];
  }
  if (type === "FILE_STAT_RESPONSE") {
    if (!payload.exists) return [make("p", `Nothing is at ${payload.path}.`)];
    const text = (key, value) => (/time$/.test(key) ? when(value) : key === "size_bytes" ? `${size(value)} (${value} bytes)` : value === true ? "yes" : value === false ? "no" : String(value ?? "unknown"));
    return [table(Object.entries(facts).filter(([key]) => key in payload).map(([key, label]) => [label, text(key, payload[key])]))];
  }
  return desktop(type, payload);
}

/** Shows the outcome of one call. `words` names what was done. */
export function show(words, outcome, retry) {
  const { ok, value, took } = outcome;
  const left = value.pending_capacity ?? value.reply?.pending_capacity;
  const time = `${value.elapsed_ms ?? value.reply?.elapsed_ms ?? took} ms` + (left == null ? "" : `, ${left} slots free`);
  const note = make("div", null, { class: `note ${ok ? "good" : "bad"}` });
  const problem = ok ? null : explain(value);
  note.append(make("b", ok ? `Done: ${words}` : `${problem.title}: ${words}`));
  if (value.restored) note.append(make("p", "The chat's folder was no longer connected; it was restored by its stored permission first."));
  if (value.retried) note.append(make("p", "The connection ended before the first answer, so it was asked a second time."));
  if (problem?.hint) note.append(make("p", problem.hint));
  if (problem?.words) note.append(make("p", `Drawbridge says: ${problem.words}`));
  note.append(make("p", problem?.code ? `${problem.code}, ${time}` : time, { class: "soft" }));
  el("verdict").replaceChildren(note);
  el("shown").replaceChildren(...(ok ? picture(value.type, value.payload ?? {}) : []));
  const raw = JSON.stringify(value, null, 2);
  el("raw").textContent = raw.length > SHOWN ? `${raw.slice(0, SHOWN)}\n… cut here` : raw;
  el("raw-box").hidden = false;
  el("again").hidden = ok || !retry;
  el("again").onclick = retry ?? null;
}

/** A word about something whose outcome is seen elsewhere on the page. */
export function tell(words, tone) {
  el("verdict").replaceChildren(make("p", words, { class: tone }));
  el("shown").replaceChildren();
  el("raw-box").hidden = true;
  el("again").hidden = true;
}
