// The local model of a chat's computer: questions to it, and questions about files whose contents stay there.
import { call, chat, offered, offers, stream } from "/console.js";
import { ending, explain, make, show, size } from "/answers.js";
import { below, listed } from "/files.js";

const el = (id) => document.getElementById(id);
const plural = (number, word) => `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}`;
const kinds = { serial: (d) => ["Serial port", d.port], usb: (d) => ["USB device", `${d.vid}:${d.pid}`], gpio: (d) => ["GPIO chip", d.chip] };
/** Files that were described, by the name of their stub. */
let stubs = [];

/** What the computer offers, as it said at the start of the connection. */
export function drawModels() {
  const { local_llm_models: models = [], hardware_devices: devices = [] } = offered();
  const off = "Local models are off, or no model server answers there. The person can switch them on in Drawbridge, under what agents may do; ask to see the refusal.";
  const words = offers("local_llm") ? `This computer offers ${plural(models.length, "model")}.` : off;
  if (el("models-offered").textContent !== words) el("models-offered").textContent = words;
  const names = models.length ? models.map((name) => [name, name]) : [["practice-model", "practice-model (not offered)"]];
  const shown = JSON.stringify([names, devices]);
  if (el("models-offered").dataset.shown === shown) return;
  el("models-offered").dataset.shown = shown;
  for (const select of [el("model"), el("turn-model")]) {
    const old = select.value;
    select.replaceChildren(...names.map(([value, text]) => new Option(text, value)));
    if (names.some(([value]) => value === old)) select.value = old;
  }
  el("devices-box").hidden = !devices.length;
  el("devices-count").textContent = devices.length;
  el("devices").tBodies[0].replaceChildren(...devices.map((device) => {
    const [kind, place] = kinds[device.type]?.(device) ?? [device.type, ""], row = make("tr");
    row.append(make("td", kind), make("td", place, { class: "path" }), make("td", device.desc));
    return row;
  }));
}
/** Empties the panel, for another chat. */
export function forgetModels() {
  stubs = [];
  drawStubs();
  for (const id of ["said-model", "said-turn"]) el(id).hidden = true;
}

// An answer that grows.
/** Follows an answer of a model in a box of its own, until its end. Several may be under way at once, as at the real platform. */
async function follow(id, words, type, payload) {
  const session_id = chat(), box = el(id), start = performance.now();
  const text = document.createTextNode(""), said = make("pre", null, { tabindex: "0", "aria-label": "The answer", "aria-busy": "true" });
  const stop = make("button", "Stop"), facts = make("p", "Waiting for the model…", { class: "soft", role: "status" });
  const row = make("div", null, { class: "row" });
  const button = document.activeElement;
  let parts = 0, first = null, stopped = false, outcome = null;
  said.append(text);
  row.append(stop, make("span", "ends what this chat asked for; its folder comes back with the next question", { class: "soft" }));
  box.replaceChildren(said, facts, row);
  box.hidden = false;
  // The protocol has no word for it: whoever asked goes away, and with them the question.
  stop.onclick = () => { stopped = true; stop.disabled = true; call("detach", { session_id }); };
  try {
    for await (const line of stream("ask", { session_id, type, payload })) {
      if (line.part) {
        first ??= Math.round(performance.now() - start);
        parts += line.part.delta ? 1 : 0;
        const low = said.scrollHeight - said.scrollTop - said.clientHeight < 40;
        text.appendData(line.part.delta);
        if (low) said.scrollTop = said.scrollHeight;
        facts.textContent = `${plural(parts, "part")} so far…`;
      } else outcome = line.end ? { ok: true, value: line.end } : { ok: false, value: line };
    }
  } catch {
    outcome = { ok: false, value: { failure: "disconnected" } };
  }
  outcome ??= { ok: false, value: { failure: "disconnected" } };
  outcome.took = Math.round(performance.now() - start);
  said.setAttribute("aria-busy", "false");
  if (row.contains(document.activeElement)) button?.focus();
  row.remove();
  if (outcome.ok) {
    const { content, output } = outcome.value.payload;
    if (!parts) text.data = content ?? output ?? "";
    const pieces = parts ? `${plural(parts, "part")}, the first after ${first} ms` : "in one piece";
    facts.textContent = `${ending(outcome.value.payload)} It came ${parts ? "in " : ""}${pieces}.`;
    if (!text.data) said.hidden = true;
  } else {
    const problem = explain(outcome.value), note = make("div", null, { class: `note ${stopped ? "warn" : "bad"}`, role: "alert" });
    note.append(make("b", stopped ? "Stopped" : problem.title));
    if (!stopped && problem.hint) note.append(make("p", problem.hint));
    if (!stopped && problem.words) note.append(make("p", `Drawbridge says: ${problem.words}`));
    if (text.data) note.append(make("p", "What came before is shown above.")); else said.hidden = true;
    facts.replaceWith(note);
  }
  if (!stopped) show(words, outcome, null);
  return outcome;
}
const number = (id) => (el(id).value === "" ? null : Number(el(id).value));
/** Only what was filled in: the computer has defaults of its own. */
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
/** One question at a time from one form. */
function once(form, work) {
  el(form).onsubmit = async (event) => {
    event.preventDefault();
    const button = el(form).querySelector("button.main");
    if (button.getAttribute("aria-disabled") === "true") return;
    // Not "disabled": that would take the keyboard's place away.
    button.setAttribute("aria-disabled", "true");
    try { await work(); } finally { button.removeAttribute("aria-disabled"); }
  };
}
once("asking", () => {
  const system = el("frame").value.trim(), messages = [{ role: "user", content: el("prompt").value }];
  if (system) messages.unshift({ role: "system", content: system });
  const more = given({ max_tokens: number("max-tokens"), temperature: number("temperature"), top_p: number("top-p") });
  return follow("said-model", `ask ${el("model").value}`, "LOCAL_LLM_COMPLETION", { model: el("model").value, messages, stream: el("streamed").checked, ...more });
});

// Files whose contents stay on the computer.
function drawStubs(chosen = []) {
  const kept = new Set([...document.getElementsByName("stub")].filter((box) => box.checked).map((box) => box.value).concat(chosen));
  el("stubs").hidden = el("turning").hidden = !stubs.length;
  el("stubs").tBodies[0].replaceChildren(...stubs.map((stub) => {
    const row = make("tr"), pick = make("td"), label = make("label");
    const box = make("input", null, { type: "checkbox", name: "stub", value: stub.stub_id });
    box.checked = kept.has(stub.stub_id);
    label.append(box, make("span", below(stub.path), { class: "path", title: stub.path }));
    pick.append(label);
    row.append(pick, make("td", size(stub.size_bytes), { class: "num" }), make("td", stub.mime_type ?? "unknown"), make("td", `${stub.sha256.slice(0, 12)}…`, { class: "path", title: stub.sha256 }), make("td", stub.stub_id.slice(0, 13) + "…", { class: "path", title: stub.stub_id }));
    return row;
  }));
}
/** Reads a file as a stub, or plainly to see what becomes of that. */
async function read(mode) {
  const path = el("private-path").value.trim(), words = mode ? `describe ${path}` : `read ${path}`;
  if (!el("stubbing").reportValidity()) return;
  const note = el("private-note");
  // The person there may have to be asked.
  const waiting = setTimeout(() => { note.hidden = false; note.className = "note warn"; note.textContent = `Waiting for Drawbridge: ${words}…`; }, 400);
  const outcome = await call("operate", { session_id: chat(), type: "FILE_READ", payload: { path, ...(mode ? { mode } : {}) } }).catch(() => null);
  clearTimeout(waiting);
  if (!outcome) return;
  const problem = outcome.ok ? null : explain(outcome.value);
  const done = mode ? "Described. Nothing of what is in it has left the computer." : "It was read: the contents of files may leave the computer in this chat.";
  note.hidden = false;
  note.className = `note ${problem ? "bad" : mode ? "good" : "warn"}`;
  note.textContent = problem ? `${problem.title}. ${problem.hint} Drawbridge says: ${problem.words}` : done;
  show(words, outcome, null);
  if (!mode || problem) return;
  const stub = outcome.value.payload;
  stubs = [stub, ...stubs.filter((old) => old.path !== stub.path)];
  drawStubs([stub.stub_id]);
}
el("stubbing").onsubmit = (event) => { event.preventDefault(); read("stub"); };
el("read-plainly").onclick = () => read(null);
el("private-path").onfocus = () => el("known-files").replaceChildren(...listed().map((name) => new Option(name)));
once("turning", async () => {
  const chosen = [...document.getElementsByName("stub")].filter((box) => box.checked).map((box) => box.value);
  const none = !chosen.length;
  el("turn-note").hidden = !none;
  if (none) { document.getElementsByName("stub")[0]?.focus(); return; }
  const context = el("context").value.trim() || null;
  const payload = { model: el("turn-model").value, task: el("task").value, stub_refs: chosen, verify_sha256: el("verify").checked, ...given({ context }) };
  const outcome = await follow("said-turn", `ask about ${plural(chosen.length, "file")}`, "LOCAL_LLM_TURN", payload);
  // A stub that no longer holds is of no more use.
  const error = outcome.value.reply?.payload;
  if (error?.code === "STUB_STALE") { stubs = stubs.filter((stub) => stub.stub_id !== error.details?.stub_id); drawStubs(); }
});
