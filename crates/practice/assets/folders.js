// The folder browser: the platform sees only what the computer lists, by references the computer made.
import { act, attached, call, chat, detachFirst, machine } from "/console.js";
import { make } from "/answers.js";

const el = (id) => document.getElementById(id);
let at = null;

/** Shows one page of folders; `where` is empty for the starting points. */
export async function browse(where) {
  const page = await act("list folders", () => call("browse", { machine_id: machine(), ...where }), true, () => browse(where));
  if (!page) return;
  const more = where.cursor != null;
  at = page;
  el("browser").hidden = false;
  el("folder-row").hidden = true;
  el("where").textContent = (page.current?.path ?? "Where to start") + (page.truncated ? " (too many folders to show them all)" : "");
  el("up").disabled = !page.current;
  el("use").disabled = !page.current;
  el("more").hidden = !page.next_cursor;
  const items = page.entries.map((entry) => {
    const item = make("li"), open = make("button", entry.name, { class: "folder", title: entry.path });
    const use = make("button", "Use", { "aria-label": `Use ${entry.path}` });
    open.onclick = () => browse({ browse_id: page.browse_id, directory_ref: entry.directory_ref });
    use.onclick = () => attach(page.browse_id, entry);
    item.append(open, use);
    return item;
  });
  if (!items.length && !more) items.push(make("li", page.current ? "There are no folders in here." : "This computer offers no folders."));
  if (more) el("folders").append(...items); else el("folders").replaceChildren(...items);
  (items[0]?.querySelector("button") ?? el("use")).focus({ preventScroll: true });
}
async function attach(browse_id, folder) {
  const session_id = chat();
  const done = await act(`use ${folder.path}`, async () => {
    const before = await detachFirst();
    if (!before.ok) return before;
    const record = await call("attach", { machine_id: machine(), session_id, browse_id, directory_ref: folder.directory_ref });
    return record.ok ? call("activate", { session_id }) : record;
  }, true, () => attach(browse_id, folder));
  if (done) { closeBrowser(); await attached(); }
}
export function closeBrowser() {
  at = null;
  el("browser").hidden = true;
  el("folder-row").hidden = false;
}

el("up").onclick = () => browse(at.parent_ref ? { browse_id: at.browse_id, directory_ref: at.parent_ref } : {});
el("use").onclick = () => attach(at.browse_id, at.current);
el("more").onclick = () => browse({ browse_id: at.browse_id, directory_ref: at.current.directory_ref, cursor: at.next_cursor });
el("cancel").onclick = () => { closeBrowser(); el("choose").focus(); };
