// A form for every operation, with the defaults of the real platform.
import { act, call, chat, offers } from "/console.js";
import { folder, list, separator } from "/files.js";
import { make } from "/answers.js";

const el = (id) => document.getElementById(id);
const path = (label = "Path") => ["path", label, "", "below the chat's folder, or the whole path"];
// name, label, default or choices, note, kind
const kinds = {
  FILE_LIST: ["List a folder", "Names, sizes and dates.", [["path", "Folder", "."], ["glob", "Only names like", "", "such as *.txt"], ["recursive", "Folders inside, too", false], ["include_hidden", "Hidden ones, too", false], ["max_entries", "At most", 1000]]],
  FILE_READ: ["Read a file", "The whole file or a part of it.", [path(), ["encoding", "As", ["utf-8", "base64"]], ["offset", "From byte", ""], ["length", "Bytes", "", "all when empty"], ["mode", "What of it", ["", "content", "stub"], "a stub describes it without its content"]]],
  FILE_WRITE: ["Write a file", "Replaces the whole file. Drawbridge keeps what was there.", [path(), ["content", "Content", "", "", "area"], ["encoding", "As", ["utf-8", "base64"]], ["create_parents", "Make missing folders", true]]],
  FILE_STAT: ["Look at a file", "What is there, how large, whose.", [path(), ["follow_symlinks", "Follow a link", true]]],
  FILE_MOVE: ["Move or rename", "", [["src", "From", "", "below the chat's folder, or the whole path"], ["dst", "To", ""], ["overwrite", "Replace what is there", false]]],
  FILE_DELETE: ["Delete", "Drawbridge keeps what was there.", [path(), ["recursive", "Folders with all that is in them", false], ["missing_ok", "Fine when nothing is there", false]]],
  EXECUTE_COMMAND: ["Run a command", "Drawbridge runs it in the chat's folder.", [["command", "Command", ""], ["argv", "Or program and arguments", "", "one a line; then no shell is used", "area"], ["shell", "Shell", ["auto", "bash", "sh", "zsh", "pwsh", "powershell", "cmd"]], ["cwd", "In folder", "", "the chat's folder when empty"], ["timeout_seconds", "At most seconds", 30]]],
  SCREENSHOT_REQUEST: ["Take a picture", "At most 10 a minute, over all chats.", [["monitor", "Screen", 0, "-1 for all of them"], ["region", "Only this part", "", "[x1, y1, x2, y2]"], ["window_id", "Or this window", "", "win_… of a list of windows"], ["format", "As", ["jpeg", "png"]], ["quality", "Quality", 75, "1 to 100, for jpeg"], ["include_cursor", "With the pointer", true]]],
  INPUT_ACTION: ["Mouse and keyboard", "Which fields count depends on the action.", [["action", "Action", ["left_click", "right_click", "double_click", "middle_click", "triple_click", "mouse_move", "mouse_down", "mouse_up", "drag", "type", "key", "hold_key", "scroll", "wait"]], ["coordinate", "Where", "", "[x, y]"], ["path", "Points of a drag", "", "[[x, y], …]"], ["text", "Text to type", "", "", "area"], ["key", "Keys", "", "ctrl+s"], ["button", "Button", ["", "left", "middle", "right"]], ["modifiers", "Held around it", "", "shift, ctrl, alt, super"], ["scroll_direction", "Scroll", ["", "up", "down", "left", "right"]], ["scroll_amount", "Steps", ""], ["duration_ms", "Milliseconds", ""], ["paste", "Paste a long text", false], ["preserve_clipboard", "Put the clipboard back", false]]],
  CURSOR_POSITION_REQUEST: ["Where is the pointer?", "", []],
  DISPLAY_INFO_REQUEST: ["List screens", "", []],
  WINDOW_LIST_REQUEST: ["List windows", "", [["app_bundle_id", "Only of app", ""], ["include_minimized", "Minimised ones, too", false], ["include_offscreen", "Those nobody can see, too", false]]],
  WINDOW_FOCUS: ["Bring a window to the front", "", [["window_id", "Window", "", "win_… of a list of windows"], ["raise", "In front of the others", true]]],
  APP_LIST_REQUEST: ["List apps", "", [["include_background", "Those without a window, too", false]]],
  APP_LAUNCH: ["Start an app", "Never through a shell.", [["bundle_id", "By its name", "", "such as org.gnome.TextEditor"], ["executable_path", "Or by its program", "", "the whole path"], ["args", "Arguments", "", "one a line", "area"], ["activate", "Give it the keyboard", true]]],
  CLIPBOARD_READ: ["Read the clipboard", "Only what the agent wrote in the last 30 seconds, unless the person allows more.", [["format", "As", ["text"]]]],
  CLIPBOARD_WRITE: ["Write the clipboard", "", [["format", "As", ["text"]], ["content", "Text", "", "", "area"]]],
  PERMISSIONS_CHECK_REQUEST: ["Permissions of the system", "Never asks the person.", [["permissions", "Names", "screen_recording, accessibility, input_monitoring", "with commas between"]]],
};
const paths = ["path", "src", "dst", "cwd"];
/** Fields that are written as JSON, as lists of lines, and as lists with commas. */
const json = ["coordinate", "region"], lines = ["argv", "args"], commas = ["modifiers", "permissions"];
const screen = (kind) => Object.keys(kinds).indexOf(kind) >= Object.keys(kinds).indexOf("SCREENSHOT_REQUEST");

function whole(value) {
  if (/^([\\/]|[A-Za-z]:)/.test(value)) return value;
  return value === "." ? folder() : folder().replace(/[\\/]$/, "") + separator() + value;
}
/** What cannot be read goes out as it was written: the computer says what is wrong with it. */
function parsed(text) { try { return JSON.parse(text); } catch { return text; } }
function payload() {
  const out = {}, type = el("kind").value;
  for (const [name, , preset] of kinds[el("kind").value][2]) {
    const input = el("fields").querySelector(`[name=${name}]`);
    if (typeof preset === "boolean") out[name] = input.checked;
    else if (lines.includes(name)) { if (input.value) out[name] = input.value.replace(/\n$/, "").split("\n"); }
    else if (commas.includes(name)) { if (input.value.trim() || name === "permissions") out[name] = input.value.split(",").map((each) => each.trim()).filter(Boolean); }
    else if (json.includes(name) || (name === "path" && type === "INPUT_ACTION")) { if (input.value.trim()) out[name] = parsed(input.value); }
    else if (input.value !== "" || name === "content") out[name] = input.type === "number" ? Number(input.value) : paths.includes(name) && !screen(type) ? whole(input.value) : input.value;
  }
  if (out.argv) { delete out.command; delete out.shell; }
  return out;
}
function fields() {
  const [, note, all] = kinds[el("kind").value];
  const kind = el("kind").value, wants = kind === "EXECUTE_COMMAND" ? "shell" : screen(kind) ? "computer_use" : "files";
  const off = { shell: "Commands are off.", computer_use: "Screen and input are off." }[wants];
  el("kind-note").textContent = off && !offers(wants) ? `${off} The person can switch that on in Drawbridge; try it to see the refusal.` : note;
  el("fields").replaceChildren(...all.map(([name, label, preset, hint, area]) => {
    const box = make("label"), input = make(area ? "textarea" : Array.isArray(preset) ? "select" : "input", null, { name, autocomplete: "off", spellcheck: "false" });
    if (typeof preset === "boolean") { input.type = "checkbox"; input.checked = preset; box.append(input, label); return box; }
    if (typeof preset === "number" || /^(offset|length|scroll_amount|duration_ms)$/.test(name)) { input.type = "number"; input.min = name === "monitor" ? "-1" : "0"; }
    if (Array.isArray(preset)) input.append(...preset.map((value) => new Option(value, value)));
    else input.value = preset;
    if (["path", "src", "dst"].includes(name) && !screen(kind)) input.required = true;
    box.append(label, " ", make("small", hint || ""), input);
    return box;
  }));
}
async function send(event) {
  event.preventDefault();
  const type = el("kind").value, asked = payload(), session_id = chat();
  const about = screen(type) ? asked.action ?? "" : asked.path ?? asked.src ?? asked.command ?? asked.argv?.join(" ") ?? "";
  const done = await act(`${kinds[type][0].toLowerCase()} ${about}`, () => call("operate", { session_id, type, payload: asked }));
  // What was listed may have changed; the answer stays in view.
  if (done && /WRITE|MOVE|DELETE|COMMAND/.test(type)) list(folder(), true);
}
/** Fills the form for the first operation. */
export function setUpForm() {
  el("kind").replaceChildren(...Object.entries(kinds).map(([kind, [words]]) => new Option(`${words} (${kind})`, kind)));
  el("kind").onchange = fields;
  el("form").onsubmit = send;
  fields();
}
