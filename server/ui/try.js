// The form: a sample of the version, or what you type, goes to the model, and its answer is shown.
import { color, duration, el, number } from "./plots.js";

const STAGES = { parse: "c-gone", queue: "c-refused", compute: "c-ok", encode: "c-late" };
const MOST_TEXT = 60000, MOST_BARS = 12;
let models = [], asked = 0, number_ = 0, count = 0, expected = null, whole = null, loaded = "", busy = false;
let parts = null;

export function setModels(node, list) {
  models = list.filter((model) => model.serving).map(({ view, serving }) => ({ view, serving }));
  if (!parts) build(node);
  const names = models.map((model) => model.view.name), versions = versionsOf();
  options(parts.model, names.map((name) => [name, name]));
  parts.model.hidden = names.length < 2;
  const version = parts.version.value;
  options(parts.version, versions);
  parts.node.disabled = !models.length;
  const key = models.length ? current().view.name + "/" + current().view.stable : "";
  if (key !== loaded) { loaded = key; number_ = 0; sample(); } else if (parts.version.value !== version) sample();
}

function current() {
  return models.find((model) => model.view.name === parts.model.value) || models[0];
}

function versionsOf() {
  const model = parts && current() || models[0];
  if (!model) return [];
  return [["", "as routed"], ...model.view.versions.filter((version) => ["serving", "canary", "shadow", "ready"].includes(version.state)).map((version) => [String(version.version), "version " + version.version + " (" + version.state + ")"])];
}

function options(select, list) {
  if (select.dataset.list === JSON.stringify(list)) return;
  select.dataset.list = JSON.stringify(list);
  const before = select.value;
  select.replaceChildren(...list.map(([value, text]) => el("option", { value }, text)));
  if (list.some(([value]) => value === before)) select.value = before;
}

function build(node) {
  parts = {
    node: el("fieldset"), model: el("select", { "aria-label": "model" }), version: el("select", { "aria-label": "version" }),
    back: el("button", { type: "button", "aria-label": "sample before", title: "sample before" }, "‹"), next: el("button", { type: "button", "aria-label": "next sample", title: "next sample" }, "›"),
    which: el("span", { class: "quiet" }), go: el("button", { type: "button", class: "primary", id: "predict" }, "Predict"),
    picture: el("canvas", { width: 8, height: 8, role: "img", "aria-label": "the input as a picture" }),
    text: el("textarea", { spellcheck: "false", "aria-label": "request body, JSON", autocomplete: "off" }), result: el("div", { class: "result", id: "result", "aria-live": "polite" }),
  };
  parts.node.className = "card";
  parts.picture.hidden = true;
  parts.node.append(el("div", { class: "controls" }, parts.model, parts.version, parts.back, parts.which, parts.next, parts.go),
    el("div", { class: "input" }, parts.picture, parts.text), parts.result);
  node.replaceChildren(parts.node);
  parts.model.addEventListener("change", () => { number_ = 0; loaded = current().view.name + "/" + current().view.stable; options(parts.version, versionsOf()); sample(); });
  parts.version.addEventListener("change", sample);
  parts.back.addEventListener("click", () => { number_ = (number_ + count - 1) % count; sample(); });
  parts.next.addEventListener("click", () => { number_ = (number_ + 1) % count; sample(); });
  parts.text.addEventListener("input", () => { asked++; expected = null; whole = null; parts.which.textContent = "your own"; picture(); });
  parts.go.addEventListener("click", predict);
  quiet("Press Predict to send this to the model.");
}

function quiet(text) { parts.result.replaceChildren(el("p", { class: "quiet" }, text)); }
function base() { return "ui/models/" + encodeURIComponent(current().view.name) + "/"; }

// ---- the input

async function sample() {
  if (!models.length) return;
  const headers = parts.version.value ? { "X-Weir-Version": parts.version.value } : {};
  let got = null;
  const turn = ++asked;
  // A version without samples is no fault: the server is not asked for what it said is not there.
  const number = Number(parts.version.value) || current().view.stable, version = current().view.versions.find((one) => one.version === number);
  if (version && version.samples) {
    try {
      const answer = await fetch(base() + "samples/" + number_, { headers });
      if (answer.ok) got = await answer.json();
    } catch { /* the page says that the server is not reached */ }
    if (turn !== asked) return; // a later one, or what was typed meanwhile, is shown
  }
  count = got ? got.count : 0;
  expected = got ? got.expected : null;
  parts.which.textContent = got ? "sample " + (got.number + 1) + " of " + got.count : "no samples: zeros";
  parts.back.hidden = parts.next.hidden = count < 2;
  put(got ? got.request : zeros());
}

function put(request) {
  const text = JSON.stringify(request);
  whole = text.length > MOST_TEXT ? text : null;
  parts.text.value = whole ? text.slice(0, 2000) + " … (" + number(text.length) + " characters, sent as they are)" : text;
  parts.text.readOnly = Boolean(whole);
  picture(request);
}

function zeros() {
  const inputs = current().serving.inputs;
  const row = (tensor) => tensor.shape.slice(1).reduceRight((inner, size) => Array(size > 0 ? size : 1).fill(inner), tensor.dtype === "bool" ? false : 0);
  return { instances: [inputs.length === 1 ? row(inputs[0]) : Object.fromEntries(inputs.map((tensor) => [tensor.name, row(tensor)]))] };
}

// Draws a row that looks like an image: a square's worth of numbers, H × W, or 1 or 3 channels of that.
function picture(request) {
  parts.picture.hidden = true;
  try { request = request || JSON.parse(whole || parts.text.value); } catch { return; }
  let planes = request && Array.isArray(request.instances) ? request.instances[0] : null;
  if (!Array.isArray(planes)) return;
  const side = Math.sqrt(planes.length);
  if (typeof planes[0] === "number") planes = Number.isInteger(side) && side >= 4 ? [Array.from({ length: side }, (_, y) => planes.slice(y * side, (y + 1) * side))] : null;
  else if (Array.isArray(planes[0]) && typeof planes[0][0] === "number") planes = [planes];
  if (!planes || ![1, 3].includes(planes.length) || !Array.isArray(planes[0]) || !Array.isArray(planes[0][0]) || planes[0].length < 4 || planes[0][0].length < 4) return;
  const height = planes[0].length, width = planes[0][0].length, flat = planes.flat(2);
  if (flat.some((value) => typeof value !== "number") || flat.length !== planes.length * height * width) return;
  const low = flat.reduce((a, b) => Math.min(a, b)), span = flat.reduce((a, b) => Math.max(a, b)) - low || 1;
  parts.picture.width = width; parts.picture.height = height;
  const context = parts.picture.getContext("2d"), image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let k = 0; k < 3; k++) image.data[i * 4 + k] = 255 * (flat[(planes.length === 3 ? k : 0) * width * height + i] - low) / span;
    image.data[i * 4 + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  parts.picture.hidden = false;
}

// ---- the answer

async function predict() {
  if (busy || !models.length) return;
  busy = parts.go.disabled = true;
  const headers = { "Content-Type": "application/json", "X-Server-Timing": "1" };
  if (parts.version.value) headers["X-Weir-Version"] = parts.version.value;
  const began = performance.now(), wanted = expected;
  try {
    const answer = await fetch(base() + "predict", { method: "POST", headers, body: whole || parts.text.value });
    const text = await answer.text(), took = performance.now() - began;
    let body = null;
    try { body = JSON.parse(text); } catch { /* shown as text */ }
    parts.result.replaceChildren(...report(answer, took), ...timing(answer, took), ...(answer.ok && body ? outputs(body, wanted) : [el("pre", {}, body && body.error ? body.error : text)]));
  } catch (error) {
    quiet("The server was not reached: " + error.message);
  }
  busy = parts.go.disabled = false;
}

function report(answer, took) {
  const version = answer.headers.get("x-weir-version"), device = answer.headers.get("x-weir-device");
  return [el("div", { class: "head" }, el("span", { class: "pill " + (answer.ok ? "good" : "bad"), id: "code" }, answer.status + " " + answer.statusText),
    el("span", { class: "quiet" }, [version && "version " + version, device && "on " + device, duration(took * 1000) + " as the browser saw it"].filter(Boolean).join(", ")))];
}

function timing(answer, took) {
  const header = answer.headers.get("server-timing");
  const stages = [...(header || "").matchAll(/(\w+);dur=([\d.]+)/g)].map((match) => [match[1], Number(match[2])]);
  if (!stages.length) return answer.ok ? [el("p", { class: "quiet" }, "no Server-Timing (server_timing: off)")] : [];
  const sum = stages.reduce((total, stage) => total + stage[1], 0) || 1;
  const bar = el("div", { class: "timing" }), keys = el("div", { class: "legend", id: "timing", title: "Server-Timing: " + header });
  for (const [name, value] of stages) {
    const piece = el("i", { title: name + " " + duration(value * 1000) }), mark = el("i");
    piece.style.width = value / sum * 100 + "%";
    piece.style.background = mark.style.background = color(STAGES[name] || "c-bad");
    bar.append(piece);
    keys.append(el("span", {}, mark, name, el("b", {}, duration(value * 1000))));
  }
  keys.append(el("span", { title: "the rest of what the browser saw: network, and the browser" }, "elsewhere", el("b", {}, duration(Math.max(0, took - sum) * 1000))));
  return [bar, keys];
}

const isNumbers = (value) => Array.isArray(value) && value.length > 1 && value.every((one) => typeof one === "number");

function outputs(body, wanted) {
  const row = Array.isArray(body.predictions) ? body.predictions[0] : null;
  const sample = wanted && Array.isArray(wanted.predictions) ? wanted.predictions[0] : null;
  const out = [];
  if (sample !== null && sample !== undefined) {
    const difference = apart(row, sample);
    out.push(el("p", { class: "quiet", id: "agrees" }, difference === null ? "" : difference === 0 ? "The same as the sample's known answer." : "From the sample's known answer at most " + number(difference, 2) + " apart."));
  }
  if (!isNumbers(row)) return [...out, el("pre", {}, JSON.stringify(body, null, 1).slice(0, 20000))];
  const order = row.map((value, i) => [value, i]).sort((a, b) => b[0] - a[0]), top = order[0][1];
  const shown = row.length <= MOST_BARS ? row.map((value, i) => [value, i]) : order.slice(0, MOST_BARS);
  const most = Math.max(...row.map(Math.abs)) || 1, grid = el("div", { class: "outputs" });
  for (const [value, i] of shown) {
    const track = el("div", { class: "track" }, el("i")), kind = i === top ? "top" : "";
    track.firstChild.style.width = Math.max(0, value) / most * 100 + "%";
    grid.append(el("div", { class: kind }, String(i)), track, el("div", { class: kind }, Math.abs(value) < 0.0005 && value !== 0 ? value.toExponential(1) : number(value, 4)));
  }
  if (row.length > MOST_BARS) grid.append(el("div"), el("div", {}, "the largest of " + row.length), el("div"));
  return [...out, grid];
}

// The largest difference between two nested arrays of numbers; null: they are not alike.
function apart(a, b) {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Object.keys(a).length !== Object.keys(b).length) return a === b ? 0 : null;
  let most = 0;
  for (const key of Object.keys(a)) {
    const one = apart(a[key], b[key]);
    if (one === null) return null;
    most = Math.max(most, one);
  }
  return most;
}
