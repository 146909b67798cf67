// Keyboard, windows, apps and clipboard of a chat's computer.
import { act } from "/console.js";
import { make } from "/answers.js";
import { afterwards, chooseDisplays, clickThere, operate, perform, shoot } from "/screen.js";

const el = (id) => document.getElementById(id);
/** Long texts take longer to type than the platform usually waits. */
const TYPING_LIMIT = 300_000;
const form = (id, work) => { el(id).onsubmit = (event) => { event.preventDefault(); work(); }; };
/** Gives the keyboard to what is at the place that was chosen, where the person wants that; tells whether to go on. */
const aimed = async () => !el("aim").checked || (await clickThere()) !== null;
const press = async (key) => (await aimed()) && afterwards(await perform(`press ${key}`, () => operate("INPUT_ACTION", { action: "key", key })));

form("typing", async () => {
  const text = el("text").value, paste = el("paste").checked;
  if (!(await aimed())) return;
  const payload = { action: "type", text, paste, preserve_clipboard: paste && el("preserve").checked };
  await afterwards(await perform(`type ${[...text].length} characters`, () => operate("INPUT_ACTION", payload, TYPING_LIMIT)));
});
form("pressing", () => press(el("key").value));
el("pressing").addEventListener("click", (event) => { const { key } = event.target.dataset ?? {}; if (key) press(key); });

function windows(list) {
  el("windows").hidden = !list.length;
  el("windows").tBodies[0].replaceChildren(...list.map((w) => {
    const row = make("tr"), name = w.title || "(no title)", what = make("td", null, { class: "acts" });
    const focus = make("button", "To the front", { "aria-label": `Bring ${name} to the front` });
    const look = make("button", "Picture", { "aria-label": `Take a picture of ${name}` });
    focus.onclick = async () => { await afterwards(await perform(`bring ${name} to the front`, () => operate("WINDOW_FOCUS", { window_id: w.window_id }))); };
    look.onclick = () => shoot({ monitor: 0, window_id: w.window_id }, `take a picture of ${name}`);
    what.append(focus, look);
    const state = [w.is_focused && "has the keyboard", w.is_minimized && "minimised", w.is_fullscreen && "fills the screen"].filter(Boolean).join(", ");
    row.append(make("td", state ? `${name} (${state})` : name), make("td", w.app_name), what);
    return row;
  }));
}
async function listWindows() {
  const answer = await act("list windows", () => operate("WINDOW_LIST_REQUEST", { include_minimized: el("minimized").checked }), true, listWindows);
  if (answer) windows(answer.payload.windows);
}
el("windows-list").onclick = listWindows;
el("apps-list").onclick = () => act("list apps", () => operate("APP_LIST_REQUEST", {}));
el("displays-list").onclick = async () => {
  const answer = await act("list screens", () => operate("DISPLAY_INFO_REQUEST", {}));
  if (answer) chooseDisplays(answer.payload.monitors);
};
el("permissions").onclick = () => act("ask for permissions of the system", () => operate("PERMISSIONS_CHECK_REQUEST", { permissions: ["screen_recording", "accessibility", "input_monitoring"] }));
form("launching", async () => {
  const app = el("app").value.trim(), path = /^([\\/]|[A-Za-z]:)/.test(app);
  await afterwards(await perform(`start ${app}`, () => operate("APP_LAUNCH", path ? { executable_path: app } : { bundle_id: app })));
});
form("copying", () => act("put a text into the clipboard", () => operate("CLIPBOARD_WRITE", { format: "text", content: el("copy").value }), true));
el("clipboard-read").onclick = () => act("read the clipboard", () => operate("CLIPBOARD_READ", { format: "text" }));
