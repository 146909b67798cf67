// The console: follows the platform's state and leads through the steps from sign-in to operations.
import { make, show, tell } from "/answers.js";
import { browse, closeBrowser } from "/folders.js";
import { list, forget } from "/files.js";
import { setUpForm } from "/operations.js";
import { drawScreen, forgetScreen } from "/screen.js";
import { drawModels, forgetModels } from "/models.js";
import "/desk.js";

const el = (id) => document.getElementById(id);
const headers = { "x-practice-token": document.querySelector("meta[name=token]").content, "content-type": "application/json" };
let state = { version: null, links: [], chats: {}, faults: [], consent: "ask" };
let seen = 0, total = 0, chosen = null, busy = false;

export const machine = () => el("machine").value;
export const chat = () => chosen;
export const root = () => state.chats[chosen]?.grant?.allowed_root;
/** Whether the chosen computer offers this. */
export const offers = (name) => state.links.some((l) => l.scope.control === machine() && l.granted.includes(name));
/** What the computer said about itself when the chat's connection began; else when its own did. */
export const offered = () => (live(chosen) ?? state.links.find((l) => l.scope.control === machine()))?.hello ?? {};
/** The live data link of a chat. */
const live = (id) => state.links.find((link) => link.scope.data === id);

/** Whether an act of the person runs. */
export const isBusy = () => busy;
/** One call of the platform's script. */
export async function call(name, body) {
  const start = performance.now();
  const reply = await fetch(`/api/practice/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  const json = reply.headers.get("content-type")?.includes("json");
  const value = json ? await reply.json() : { failure: "unknown", text: await reply.text() };
  return { ok: reply.ok, value, took: Math.round(performance.now() - start) };
}
/** A call whose answer comes line by line. */
export async function* stream(name, body) {
  const reply = await fetch(`/api/practice/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) { yield await reply.json(); return; }
  const text = reply.body.pipeThrough(new TextDecoderStream());
  let rest = "";
  for (const reader = text.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
/**
 * Runs an act of the person, one at a time, and shows its outcome; gives the answer, or null when it failed. `again` is what
 * "Try again" does, where more than the act itself follows from it.
 */
export async function act(words, work, quiet = false, again = () => act(words, work, quiet)) {
  if (busy) return null;
  busy = true;
  const waiting = setTimeout(() => tell(`Waiting for Drawbridge: ${words}…`, "note warn"), 400);
  try {
    const outcome = await work();
    if (!quiet || !outcome.ok) show(words, outcome, again);
    else tell(`Done: ${words}.`, "soft");
    return outcome.ok ? outcome.value : null;
  } catch {
    el("offline").hidden = false;
    return null;
  } finally {
    clearTimeout(waiting);
    busy = false;
  }
}

function choices(select, values) {
  const old = select.value;
  if ([...select.options].map((o) => `${o.value}\n${o.text}`).join("\n") === values.flat().join("\n")) return;
  select.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
  if (values.some((v) => v[0] === old)) select.value = old;
}
function step(number, done) {
  const section = el(`step-${number}`);
  section.classList.toggle("done", done);
  section.querySelector(".dot").textContent = done ? "✓" : number;
  section.querySelector(".dot").setAttribute("aria-label", done ? `Step ${number}, done` : `Step ${number}`);
}
function draw() {
  const machines = state.links.filter((link) => link.scope.control != null);
  choices(el("machine"), machines.map((l) => [l.scope.control, l.hello.display_name || l.scope.control]));
  const own = machines.find((l) => l.scope.control === machine());
  el("connect").hidden = machines.length > 0;
  el("machine-pick").hidden = machines.length < 2;
  const names = { darwin: "macOS", linux: "Linux", windows: "Windows", wsl2: "Linux in Windows" };
  const offers = own?.granted.filter((g) => g !== "directory_browse").join(", ") || "nothing yet";
  el("machine-note").textContent = own ? `${own.hello.display_name || "A computer"} (${names[own.hello.platform]}) is connected and offers ${offers}.` : "Waiting for a computer…";
  el("link").textContent = machines.length ? "A computer is connected" : "No computer is connected";
  el("link").className = `tag ${machines.length ? "good" : "warn"}`;

  const ids = Object.keys(state.chats);
  if (!ids.includes(chosen)) chosen = ids.at(-1) ?? null;
  drawChats(ids);
  drawFolder(own);
  const steps = [machines.length > 0, ids.length > 0, Boolean(root()), false];
  const now = steps.indexOf(false);
  steps.forEach((done, i) => { step(i + 1, done); el(`step-${i + 1}`).classList.toggle("now", i === now); });
  el("empty").hidden = Boolean(root());
  el("tools").hidden = !root();
  drawScreen();
  drawModels();
  el("new-chat").textContent = ids.length ? "Start another chat" : "Start a chat";
  el("new-chat").classList.toggle("main", now === 1);
  el("choose").classList.toggle("main", now === 2);
  el("faults").hidden = !state.faults.length;
  el("faults").textContent = `Against the protocol: ${state.faults.map((f) => f.text).join("; ")}`;
  el("consent").value = state.consent;
}
const about = (id) => {
  const folder = state.chats[id].grant?.allowed_root;
  const link = live(id);
  const tells = link ? `connected${link.outstanding ? `, ${link.outstanding} running` : ""}` : "asleep, wakes at the next operation";
  return folder ? [folder, tells] : ["no folder yet", ""];
};
function drawChats(ids) {
  const wanted = JSON.stringify([chosen, ids.map((id) => [id, about(id)])]);
  if (el("chats").dataset.shown === wanted) return;
  const focused = document.activeElement?.dataset?.chat;
  el("chats").dataset.shown = wanted;
  el("chats").replaceChildren(...ids.map((id) => {
    const button = make("button", null, { class: "pick", "aria-pressed": String(id === chosen), "data-chat": id });
    button.append(make("b", id), ...about(id).filter(Boolean).map((text) => make("span", text, { class: "soft" })));
    button.onclick = () => { chosen = id; closeBrowser(); forget(); forgetScreen(); forgetModels(); draw(); fill(); };
    return button;
  }));
  if (focused) el("chats").querySelector(`[data-chat="${focused}"]`)?.focus();
}
function drawFolder(own) {
  const folder = root();
  el("folder-note").className = folder ? "path" : "soft";
  el("folder-note").textContent = folder ?? (!chosen ? "Start a chat first." : own ? "The agent will work in this folder and nowhere else." : "Waits for a computer.");
  el("choose").textContent = folder ? "Choose another folder" : "Choose a folder";
  el("choose").disabled = !chosen || !own;
  el("restore").hidden = !folder || Boolean(live(chosen));
  el("detach").hidden = !folder || !live(chosen);
}
/** Lists the files of the chosen chat once, when its folder is there. */
let filled = null;
function fill() {
  if (root() && live(chosen) && filled !== chosen + root()) { filled = chosen + root(); list(root()); }
}
/** After a folder was attached: its files are shown. */
export async function attached() {
  state = await glance("state");
  filled = null; forget(); draw(); fill();
  el("tab-files").focus();
}

el("address").textContent = location.origin;
el("command").textContent = `export DRAWBRIDGE_PLATFORM_URL=${location.origin}\ndrawbridge auth\ndrawbridge start`;
el("machine").onchange = draw;
el("new-chat").onclick = () => act("start a chat", async () => {
  const two = (n) => String(n).padStart(2, "0"), time = new Date();
  const mark = crypto.getRandomValues(new Uint8Array(2)).reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "");
  const outcome = await call("chat", { session_id: `chat-${two(time.getHours())}${two(time.getMinutes())}-${mark}` });
  if (outcome.ok) { chosen = outcome.value.session_id; state.chats[chosen] ??= {}; forget(); forgetScreen(); forgetModels(); draw(); el("choose").focus(); }
  return outcome;
}, true);
el("choose").onclick = () => browse({});
el("restore").onclick = async () => { if (await act("reconnect the chat's folder", () => call("restore", { session_id: chosen }), true)) list(root()); };
el("detach").onclick = () => act("take the folder away from the chat", () => call("detach", { session_id: chosen }), true);
el("consent").onchange = () => call("consent", { mode: el("consent").value });
el("trouble").onclick = (event) => {
  const name = event.target.dataset.call;
  if (name) act(event.target.textContent, () => call(name, { scope: { control: machine() }, code: 4500, reason: "Internal error" }));
};
/** Stops and starts a chat's folder around `work` when it is in use. */
export const detachFirst = async () => (live(chosen) ? call("detach", { session_id: chosen }) : { ok: true });

const tabs = [el("tab-files"), el("tab-screen"), el("tab-models"), el("tab-form")];
function tab(shown) {
  for (const each of tabs) {
    each.setAttribute("aria-selected", String(each === shown));
    each.tabIndex = each === shown ? 0 : -1;
    el(each.getAttribute("aria-controls")).hidden = each !== shown;
  }
}
for (const each of tabs) {
  each.onclick = () => tab(each);
  each.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const other = tabs[(tabs.indexOf(each) + step + tabs.length) % tabs.length];
    tab(other); other.focus();
  };
}
setUpForm();

async function glance(name) {
  const reply = await fetch(`/api/practice/${name}?since=${seen}&max=200&version=${state.version}`, { headers });
  if (reply.status === 401) { location.reload(); await new Promise(() => {}); }
  if (!reply.ok) throw new Error(`status ${reply.status}`);
  const next = await reply.json();
  if (next.last_frame < total) { seen = 0; el("frames").replaceChildren(); }
  total = next.last_frame;
  for (const frame of next.frames) if (frame.n > seen) { seen = frame.n; el("frames").prepend(wire(frame)); }
  while (el("frames").children.length > 200) el("frames").lastChild.remove();
  el("count").textContent = total;
  return next;
}
function wire(frame) {
  const box = make("details"), way = frame.from_machine ? "◂ from the computer" : "▸ to the computer";
  box.append(make("summary", `${frame.at.toFixed(2)} s ${way}: ${frame.kind || (frame.binary ? "binary" : "unreadable")} (${frame.bytes.toLocaleString()} bytes)`));
  // Laid out only when it is looked at: most frames never are.
  box.ontoggle = () => {
    let text = frame.text;
    try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { text += frame.cut ? "\n… only the beginning is kept" : ""; }
    if (box.children.length === 1) box.append(make("pre", text, { tabindex: "0" }));
  };
  return box;
}
async function follow() {
  for (let name = "state"; ; name = "events") {
    try {
      state = await glance(name);
      el("offline").hidden = true;
      draw(); fill();
    } catch {
      el("offline").hidden = false;
      el("link").textContent = "No platform";
      el("link").className = "tag bad";
      state = { ...state, version: null };
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}
follow();
