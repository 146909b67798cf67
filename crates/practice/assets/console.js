"use strict";
const token = document.querySelector("meta[name=token]").content;
const el = (id) => document.getElementById(id);
const headers = { "x-practice-token": token, "content-type": "application/json" };
const kinds = {
  FILE_LIST: [["path", "."], ["glob", ""], ["recursive", false], ["include_hidden", false]],
  FILE_READ: [["path", ""], ["encoding", "utf-8"], ["offset", 0], ["length", ""]],
  FILE_WRITE: [["path", ""], ["content", "", "area"], ["encoding", "utf-8"], ["create_parents", true]],
  FILE_STAT: [["path", ""], ["follow_symlinks", true]],
  FILE_DELETE: [["path", ""], ["recursive", false], ["missing_ok", false]],
  FILE_MOVE: [["src", ""], ["dst", ""], ["overwrite", false]],
  EXECUTE_COMMAND: [["command", ""], ["argv", "", "area"], ["shell", "auto"], ["cwd", ""], ["timeout_seconds", 30]],
};
const hints = {
  not_connected: "Nothing is connected there. Is Drawbridge running and the chat restored?",
  timed_out: "No answer in time, as on the real platform.", overloaded: "The machine has no free slot.",
  disconnected: "The connection ended before the answer.", mismatch: "The answer differs from what was stored.",
  CAPABILITY_NOT_GRANTED: "The person has not allowed this, or has not answered yet.",
  PATH_OUTSIDE_ALLOWED_ROOT: "That path leads out of the attached folder.", PATH_NOT_FOUND: "There is nothing at that path.",
  PATH_EXISTS: "Something is already there; allow overwriting to replace it.", PATH_NOT_EMPTY: "That folder is not empty.",
  FILE_TOO_LARGE: "Above the size limit; ask for a range.", SHIM_OVERLOADED: "Too much at once; try again shortly.",
  DIRECTORY_REFERENCE_INVALID: "This list of folders is out of date; browse again.", SESSION_ALREADY_ACTIVE: "Detach the chat's folder first.",
  ROOT_GRANT_INVALID: "The folder's permission no longer holds; attach it again.",
};
let state = { links: [], chats: {} }, seen = 0, at = null;

async function call(name, body) {
  const start = performance.now();
  const reply = await fetch(`/api/practice/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  const value = reply.headers.get("content-type")?.includes("json") ? await reply.json() : { failure: await reply.text() };
  const took = Math.round(performance.now() - start);
  const code = value.reply?.payload?.code ?? value.failure;
  el("verdict").className = reply.ok ? "soft" : "bad";
  const left = (value.pending_capacity ?? value.reply?.pending_capacity);
  el("verdict").textContent = `${reply.ok ? "Done" : code} in ${value.elapsed_ms ?? took} ms` + (left == null ? "" : `, ${left} slots free`) + (reply.ok ? "" : `. ${hints[code] ?? ""}`);
  el("answer").textContent = JSON.stringify(value, null, 2);
  if (!reply.ok) throw new Error(code);
  return value;
}
const go = (act) => async (event) => { event?.preventDefault(); try { await act(); } catch (error) { if (!(error instanceof Error) || error instanceof TypeError) el("verdict").textContent = "The platform does not answer. Is it still running?"; } };

function choices(select, values) {
  const old = select.value;
  if ([...select.options].map((o) => o.value).join("\n") === values.map((v) => v[0]).join("\n")) return;
  select.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
  if (values.some((v) => v[0] === old)) select.value = old;
}
function show() {
  const machines = state.links.filter((l) => l.scope.control != null);
  choices(el("machine"), machines.map((l) => [l.scope.control, l.hello.display_name || l.scope.control]));
  el("machine-note").textContent = machines.length ? `Offers ${machines[0].granted.join(", ")}.` : "None. Sign in from Drawbridge to this address.";
  choices(el("chat"), Object.keys(state.chats).map((id) => [id, id]));
  const chat = state.chats[el("chat").value], link = state.links.find((l) => l.scope.data === el("chat").value);
  el("chat-note").textContent = chat?.grant ? `${chat.grant.allowed_root} - ${link ? `connected, ${link.outstanding} running` : "not connected"}` : "No folder attached.";
  el("restore").disabled = el("detach").disabled = !chat?.grant;
  el("faults").textContent = state.faults?.length ? `Protocol faults: ${state.faults.map((f) => f.text).join("; ")}` : "";
}
async function page(body) {
  const got = await call("browse", { machine_id: el("machine").value, ...body });
  at = got; el("where").textContent = (got.current?.path ?? "Starting points") + (got.truncated ? " (list cut short)" : "");
  el("more").disabled = !got.next_cursor;
  el("folders").replaceChildren(...got.entries.map((entry) => {
    const item = document.createElement("li"), open = document.createElement("button"), pick = document.createElement("button");
    open.textContent = entry.name; open.title = entry.path; pick.textContent = "Attach"; pick.setAttribute("aria-label", `Attach ${entry.path}`);
    open.onclick = go(() => page({ browse_id: got.browse_id, directory_ref: entry.directory_ref }));
    pick.onclick = go(async () => {
      if (!el("chat").value) throw new Error(el("verdict").textContent = "Start a chat first.");
      const session_id = el("chat").value;
      await call("attach", { machine_id: el("machine").value, session_id, browse_id: got.browse_id, directory_ref: entry.directory_ref });
      await call("activate", { session_id });
    });
    item.append(open, pick); return item;
  }));
}
function fields() {
  el("fields").replaceChildren(...kinds[el("kind").value].map(([name, value, area]) => {
    const label = document.createElement("label"), input = document.createElement(area ? "textarea" : "input");
    label.textContent = name === "argv" ? "argv (one a line, instead of command)" : name; input.name = name;
    if (typeof value === "boolean") { input.type = "checkbox"; input.checked = value; input.style.width = "auto"; } else input.value = value;
    label.append(" ", input); return label;
  }));
}
function payload() {
  const out = {};
  for (const [name, value] of kinds[el("kind").value]) {
    const input = el("fields").querySelector(`[name=${name}]`);
    if (typeof value === "boolean") out[name] = input.checked;
    else if (input.value !== "" || name === "content") out[name] = name === "argv" ? input.value.split("\n") : /^(offset|length|timeout_seconds)$/.test(name) ? Number(input.value) : input.value;
  }
  if (out.argv) { delete out.command; delete out.shell; }
  const root = state.chats[el("chat").value]?.grant?.allowed_root;
  if (root && out.path === ".") out.path = root;
  return out;
}
choices(el("kind"), Object.keys(kinds).map((k) => [k, k])); fields();
el("kind").onchange = fields; el("chat").onchange = show; el("machine").onchange = show;
el("new-chat").onclick = go(async () => { const { session_id } = await call("chat", {}); state.chats[session_id] ??= {}; show(); el("chat").value = session_id; show(); });
el("restore").onclick = go(() => call("restore", { session_id: el("chat").value }));
el("detach").onclick = go(() => call("detach", { session_id: el("chat").value }));
el("roots").onclick = go(() => page({}));
el("more").onclick = go(() => page({ browse_id: at.browse_id, directory_ref: at.current.directory_ref, cursor: at.next_cursor }));
el("ask").onsubmit = go(() => call("request", { scope: { data: el("chat").value }, type: el("kind").value, payload: payload() }));
async function follow() {
  for (let first = true; ; first = false) {
    try {
      const reply = await fetch(`/api/practice/${first ? "state" : "events"}?since=${seen}`, { headers });
      if (!reply.ok) throw new Error();
      state = await reply.json();
      for (const frame of state.frames) {
        seen = Math.max(seen, frame.n);
        const box = document.createElement("details"), head = document.createElement("summary"), body = document.createElement("pre");
        head.textContent = `${frame.at.toFixed(2)} s ${frame.from_machine ? "from machine" : "to machine"}: ${frame.kind || "unreadable"} (${frame.bytes} bytes)`; body.textContent = frame.text;
        box.append(head, body); el("frames").prepend(box);
      }
      while (el("frames").children.length > 200) el("frames").lastChild.remove();
      show();
    } catch { await new Promise((done) => setTimeout(done, 2000)); }
  }
}
follow();
