// The files of a chat's folder, to click through and read.
import { act, call, chat, root } from "/console.js";
import { make, size, when } from "/answers.js";

const el = (id) => document.getElementById(id);
/** Files above this are read from the start only. */
const WHOLE = 1_000_000, START = 64 * 1024;
let here = null, names = [];

export const folder = () => here ?? root();
/** Paths of the files that are listed, as an agent would write them. */
export const listed = () => names;
export const separator = () => (/^[A-Za-z]:|\\/.test(root() ?? "") ? "\\" : "/");
/** A path as seen from the chat's folder. */
export const below = (path) => (path.startsWith(root()) ? path.slice(root().length).replace(/^[\\/]/, "") : path);
const operate = (type, payload) => () => call("operate", { session_id: chat(), type, payload });

/** Lists a folder; silently, when the answer in view shall stay. */
export async function list(path, silent = false) {
  const ask = operate("FILE_LIST", { path, include_hidden: true, max_entries: 1000 });
  const answer = silent ? (await ask().catch(() => null))?.value : await act(`list ${path}`, ask, true);
  if (!answer?.payload) return;
  here = path;
  const { entries, truncated } = answer.payload;
  el("files-where").textContent = path;
  el("files-up").disabled = path === root();
  el("files-note").textContent = entries.length ? (truncated ? "There are more than these." : "") : "This folder is empty. Write a file under “Any operation”.";
  el("listing").hidden = !entries.length;
  names = entries.filter((entry) => entry.is_file).map((entry) => below(entry.path));
  const sorted = [...entries].sort((a, b) => b.is_dir - a.is_dir);
  el("listing").tBodies[0].replaceChildren(...sorted.map((entry) => {
    const row = make("tr"), name = make("td"), open = make("button", entry.name, { class: `name ${entry.is_dir ? "folder" : "file"}` });
    open.onclick = () => (entry.is_dir ? list(entry.path).then(() => el("files-again").focus()) : read(entry));
    name.append(open);
    row.append(name, make("td", entry.is_dir ? "" : size(entry.size_bytes), { class: "num" }), make("td", when(entry.mtime)));
    return row;
  }));
}
function read(entry) {
  const part = entry.size_bytes > WHOLE ? { offset: 0, length: START } : {};
  act(`read ${entry.name}`, operate("FILE_READ", { path: entry.path, encoding: "utf-8", ...part }));
}
/** Empties the list, for another chat. */
export function forget() {
  here = null;
  names = [];
  el("listing").hidden = true;
  el("listing").tBodies[0].replaceChildren();
  el("files-where").textContent = "";
  el("files-note").textContent = "Not listed yet. “List again” asks for the files.";
}

el("files-up").onclick = () => {
  const parent = here?.replace(/[\\/][^\\/]*$/, "") || root();
  list(parent.length < root().length ? root() : parent);
};
el("files-again").onclick = () => list(folder());
