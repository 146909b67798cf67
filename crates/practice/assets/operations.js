// A form for every operation, with the defaults of the real platform.
import { act, call, chat, offers } from "/console.js";
import { folder, list, separator } from "/files.js";
import { make } from "/answers.js";

const el = (id) => document.getElementById(id);
const path = (label = "Path") => ["path", label, "", "below the chat's folder, or the whole path"];
// name, label, default or choices, note, kind
const kinds = {
  FILE_LIST: ["List a folder", "Names, sizes and dates.", [["path", "Folder", "."], ["glob", "Only names like", "", "such as *.txt"], ["recursive", "Folders inside, too", false], ["include_hidden", "Hidden ones, too", false], ["max_entries", "At most", 1000]]],
  FILE_READ: ["Read a file", "The whole file or a part of it.", [path(), ["encoding", "As", ["utf-8", "base64"]], ["offset", "From byte", ""], ["length", "Bytes", "", "all when empty"]]],
  FILE_WRITE: ["Write a file", "Replaces the whole file. Drawbridge keeps what was there.", [path(), ["content", "Content", "", "", "area"], ["encoding", "As", ["utf-8", "base64"]], ["create_parents", "Make missing folders", true]]],
  FILE_STAT: ["Look at a file", "What is there, how large, whose.", [path(), ["follow_symlinks", "Follow a link", true]]],
  FILE_MOVE: ["Move or rename", "", [["src", "From", "", "below the chat's folder, or the whole path"], ["dst", "To", ""], ["overwrite", "Replace what is there", false]]],
  FILE_DELETE: ["Delete", "Drawbridge keeps what was there.", [path(), ["recursive", "Folders with all that is in them", false], ["missing_ok", "Fine when nothing is there", false]]],
  EXECUTE_COMMAND: ["Run a command", "Drawbridge runs it in the chat's folder.", [["command", "Command", ""], ["argv", "Or program and arguments", "", "one a line; then no shell is used", "area"], ["shell", "Shell", ["auto", "bash", "sh", "zsh", "pwsh", "powershell", "cmd"]], ["cwd", "In folder", "", "the chat's folder when empty"], ["timeout_seconds", "At most seconds", 30]]],
};
const paths = ["path", "src", "dst", "cwd"];

function whole(value) {
  if (/^([\\/]|[A-Za-z]:)/.test(value)) return value;
  return value === "." ? folder() : folder().replace(/[\\/]$/, "") + separator() + value;
}
function payload() {
  const out = {};
  for (const [name, , preset] of kinds[el("kind").value][2]) {
    const input = el("fields").querySelector(`[name=${name}]`);
    if (typeof preset === "boolean") out[name] = input.checked;
    else if (name === "argv") { if (input.value) out.argv = input.value.replace(/\n$/, "").split("\n"); }
    else if (input.value !== "" || name === "content") out[name] = input.type === "number" ? Number(input.value) : paths.includes(name) ? whole(input.value) : input.value;
  }
  if (out.argv) { delete out.command; delete out.shell; }
  return out;
}
function fields() {
  const [, note, all] = kinds[el("kind").value];
  const off = el("kind").value === "EXECUTE_COMMAND" && !offers("shell");
  el("kind-note").textContent = off ? "Commands are off. The person can switch them on in Drawbridge; try it to see the refusal." : note;
  el("fields").replaceChildren(...all.map(([name, label, preset, hint, area]) => {
    const box = make("label"), input = make(area ? "textarea" : Array.isArray(preset) ? "select" : "input", null, { name, autocomplete: "off", spellcheck: "false" });
    if (typeof preset === "boolean") { input.type = "checkbox"; input.checked = preset; box.append(input, label); return box; }
    if (typeof preset === "number" || /^(offset|length)$/.test(name)) { input.type = "number"; input.min = "0"; }
    if (Array.isArray(preset)) input.append(...preset.map((value) => new Option(value, value)));
    else input.value = preset;
    if (["path", "src", "dst"].includes(name)) input.required = true;
    box.append(label, " ", make("small", hint || ""), input);
    return box;
  }));
}
async function send(event) {
  event.preventDefault();
  const type = el("kind").value, asked = payload(), session_id = chat();
  const about = asked.path ?? asked.src ?? asked.command ?? asked.argv?.join(" ") ?? "";
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
