// The screen of a chat's computer: a picture of it, and the mouse on the picture.
import { act, call, chat, isBusy, offered, offers } from "/console.js";
import { image, make, explain } from "/answers.js";

const el = (id) => document.getElementById(id);
/** Pictures a computer gives in a minute, over all chats (the protocol's limit). */
const LIMIT = 10, MINUTE = 60_000;
/** How often a picture is taken by itself: leaves four of ten a minute for the person. */
const EVERY = 10_000;
/** Pointer movement up to this many pixels of the page is a click, more is a drag. */
const STILL = 4, PATH_MAX = 200;
let shown = null, mark = null, path = null, next = 0, taken = [];

export const operate = (type, payload, limit_ms) => call("operate", { session_id: chat(), type, payload, ...(limit_ms ? { limit_ms } : {}) });

/** What the computer offers, as it said at the start of the connection. */
export function drawScreen() {
  const { computer_use_features: fine = [], computer_use_features_coarse: coarse = [] } = offered();
  const on = offers("computer_use");
  const words = on ? `This computer offers ${coarse.join(", ") || "parts of"} ${coarse.length ? "and" : ""} ${fine.length} single features.` : "Screen and input are off. The person can switch them on in Drawbridge; try to see the refusal.";
  if (el("offered").textContent !== words) el("offered").textContent = words;
  const names = [...coarse, ...fine], listed = names.join("\n");
  el("features-box").hidden = !names.length;
  if (el("features").dataset.shown === listed) return;
  el("features").dataset.shown = listed;
  el("features").replaceChildren(...names.map((name, i) => make("li", name, { class: i < coarse.length ? "tag good" : "tag" })));
}
/** Empties the view, for another chat. */
export function forgetScreen() {
  shown = mark = path = null;
  el("view").hidden = el("view-help").hidden = true;
  el("picture").removeAttribute("src");
  el("live").checked = false;
  el("said").hidden = true;
  el("windows").hidden = true;
  el("windows").tBodies[0].replaceChildren();
  el("display").replaceChildren(new Option("the first screen", "0"), new Option("all screens", "-1"));
  note("");
}
/** Screens that can be chosen, once they are known. */
export function chooseDisplays(monitors) {
  const old = el("display").value;
  const name = (m) => (m.index === 0 ? "the first screen" : `screen ${m.index}`);
  el("display").replaceChildren(...monitors.map((m) => new Option(name(m), String(m.index))), new Option("all screens", "-1"));
  if ([...el("display").options].some((o) => o.value === old)) el("display").value = old;
}
function note(words) {
  el("screen-note").hidden = !words;
  el("screen-note").textContent = words;
}
function count() {
  taken = taken.filter((time) => Date.now() - time < MINUTE);
  const waits = el("live").checked ? `, the next one in ${Math.max(0, Math.ceil((next - Date.now()) / 1000))} s` : "";
  el("budget").textContent = `A computer gives at most ${LIMIT} pictures a minute, over all chats; failed attempts count. This page asked for ${taken.length} in the last minute${waits}.`;
}

const ask = (extra) => ({ monitor: Number(el("display").value), format: "jpeg", include_cursor: el("cursor").checked, ...extra });
function put(payload) {
  const address = image(payload);
  if (!address) return;
  const same = shown && shown.width === payload.width && shown.height === payload.height && String(shown.origin) === String(payload.meta.origin);
  shown = { width: payload.width, height: payload.height, scale: payload.display_scale || 1, origin: payload.meta.origin };
  el("picture").src = address;
  el("picture").alt = `The screen, ${payload.width} by ${payload.height} pixels${payload.meta.one_colour ? ", all of one colour" : ""}`;
  el("view").hidden = el("view-help").hidden = false;
  if (!same || !mark) moveMark([Math.floor(shown.width / 2), Math.floor(shown.height / 2)]);
  note(payload.meta.one_colour ? "The picture has one single colour: nothing is shown there, or it cannot be seen." : "");
}
/** Runs an act of the person; what came of it also stands beside the picture, since the answer is far below. */
export async function perform(words, work, quiet = true, again = undefined) {
  if (isBusy()) return null;
  // What came of the act before is not what comes of this one.
  el("said").hidden = true;
  const done = await act(words, work, quiet, again);
  el("said").hidden = false;
  el("said").className = done ? "soft" : "note bad";
  el("said").textContent = el("verdict").querySelector("b, p")?.textContent ?? "";
  return done;
}
/** Takes a picture that the person asked for. */
export async function shoot(extra = {}, words = "take a picture") {
  if (isBusy()) return;
  taken.push(Date.now()); count();
  const answer = await perform(words, () => operate("SCREENSHOT_REQUEST", ask(extra)), true, () => shoot(extra, words));
  if (answer) put(answer.payload);
}
/** Takes one beside the person's own acts; a refusal ends the series, so that it does not eat the limit. */
async function shootAlone() {
  taken.push(Date.now()); count();
  const outcome = await operate("SCREENSHOT_REQUEST", ask({})).catch(() => null);
  if (outcome?.ok) return put(outcome.value.payload);
  el("live").checked = false;
  const { title, hint } = explain(outcome?.value ?? {});
  note(`No more pictures by themselves: ${title}. ${hint}`);
}
/** A picture after an act, when that is wanted. */
export const afterwards = (done) => { if (done && el("after").checked) return shootAlone(); };

// Places: pixels of the picture, and units of the computer's screen.
const unit = ([px, py]) => [shown.origin[0] + Math.floor(px / shown.scale), shown.origin[1] + Math.floor(py / shown.scale)];
const inside = (value, size) => Math.min(Math.max(value, 0), size - 1);
function pixel(event) {
  const box = el("picture").getBoundingClientRect();
  return [inside(Math.floor(((event.clientX - box.left) / box.width) * shown.width), shown.width), inside(Math.floor(((event.clientY - box.top) / box.height) * shown.height), shown.height)];
}
function moveMark(to, speak = false) {
  mark = to;
  el("mark").style.left = `${((to[0] + 0.5) / shown.width) * 100}%`;
  el("mark").style.top = `${((to[1] + 0.5) / shown.height) * 100}%`;
  const [x, y] = unit(to);
  el("x").value = x; el("y").value = y;
  if (speak) el("where-at").textContent = `At ${x}, ${y}.`;
}
export const held = () => [...document.getElementsByName("held")].filter((box) => box.checked).map((box) => box.value);
const words = { left_click: "click", double_click: "double-click", triple_click: "triple-click", right_click: "right-click", middle_click: "middle-click", mouse_move: "move the pointer to", mouse_down: "press the button at", mouse_up: "release the button at" };
async function input(action, coordinate) {
  const modifiers = /click$/.test(action) ? held() : [];
  const payload = { action, coordinate, ...(modifiers.length ? { modifiers } : {}) };
  const says = `${words[action]} ${/click$/.test(action) ? "at " : ""}${coordinate.join(", ")}`;
  await afterwards(await perform(says, () => operate("INPUT_ACTION", payload)));
}
const dragged = async (points) => afterwards(await perform(`drag from ${points[0].join(", ")} to ${points.at(-1).join(", ")}`, () => operate("INPUT_ACTION", { action: "drag", path: points, button: "left" })));

el("view").onpointerdown = (event) => {
  if (!shown || event.button > 1) return;
  event.preventDefault();
  el("view").focus({ preventScroll: true });
  el("view").setPointerCapture(event.pointerId);
  path = { from: [event.clientX, event.clientY], moved: false, points: [pixel(event)], middle: event.button === 1 };
  moveMark(path.points[0]);
};
el("view").onpointermove = (event) => {
  if (!path) return;
  path.moved ||= Math.hypot(event.clientX - path.from[0], event.clientY - path.from[1]) > STILL;
  if (path.moved && path.points.length < PATH_MAX) path.points.push(pixel(event));
  if (path.moved) moveMark(pixel(event));
};
el("view").onpointerup = (event) => {
  if (!path) return;
  const { moved, points, middle } = path;
  path = null;
  if (moved) dragged([...points, pixel(event)].map(unit));
  else input(middle ? "middle_click" : el("verb").value, unit(points[0]));
};
el("view").onpointercancel = () => { path = null; };
el("view").oncontextmenu = (event) => {
  if (!shown || event.button !== 2) return;
  event.preventDefault();
  moveMark(pixel(event));
  input("right_click", unit(mark));
};
el("view").onkeydown = (event) => {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!shown || (!way && event.key !== "Enter")) return;
  event.preventDefault();
  if (!way) return void input(el("verb").value, unit(mark));
  const far = event.shiftKey ? 1 : 10;
  moveMark([inside(mark[0] + way[0] * far, shown.width), inside(mark[1] + way[1] * far, shown.height)], true);
};
const typedPlace = () => [Number(el("x").value), Number(el("y").value)];
/** One plain click at the place that was chosen; gives null when there is none or it was not done. */
export async function clickThere() {
  if (!el("point").reportValidity()) return null;
  const coordinate = typedPlace();
  return perform(`click at ${coordinate.join(", ")}`, () => operate("INPUT_ACTION", { action: "left_click", coordinate }));
}
el("point").onsubmit = (event) => { event.preventDefault(); input(el("verb").value, typedPlace()); };
el("point").onclick = async (event) => {
  const direction = event.target.dataset?.scroll;
  if (!direction) return;
  const coordinate = el("x").value !== "" && el("y").value !== "" ? typedPlace() : null, modifiers = held();
  const payload = { action: "scroll", scroll_direction: direction, scroll_amount: 3, ...(coordinate ? { coordinate } : {}), ...(modifiers.length ? { modifiers } : {}) };
  await afterwards(await perform(`scroll ${direction}`, () => operate("INPUT_ACTION", payload)));
};
el("pointer").onclick = () => act("ask where the pointer is", () => operate("CURSOR_POSITION_REQUEST", {}));
el("shoot").onclick = () => shoot();
el("live").onchange = () => { next = Date.now(); count(); };
setInterval(() => {
  if (el("screen").hidden || !chat()) return;
  if (el("live").checked && Date.now() >= next && !isBusy() && !document.hidden) { next = Date.now() + EVERY; shootAlone(); }
  count();
}, 500);
