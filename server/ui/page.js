// The status page: takes the server's events, keeps 15 minutes of points, and draws them.
import { BarPlot, TimePlot, bytes, clock, color, duration, el, number, percent } from "./plots.js";
import { showConfig, showDevice, showModels, showProblems } from "./panels.js";
import { setModels } from "./try.js";

const $ = (id) => document.getElementById(id);
const RANGES = [["1 min", 60, 1, 15, true], ["5 min", 300, 2, 60, false], ["15 min", 900, 5, 300, false]];
const HIDDEN_MS = 30000;
let hello = { bounds: [], batch_size: 1, points: 900 };
let points = []; // oldest first
let sequence = 0, range = RANGES[0], hover = null, health = null, config = null, lastEvent = 0;

// ---- figures of a point

const OUTCOMES = ["ok", "refused", "late", "bad", "failed", "gone"];
const rate = (name) => (point) => point.interval_ms > 0 ? point[name] * 1000 / point.interval_ms : null;
const share = (name) => (point) => point[name] === null ? null : point[name] / 10;
const plain = (name) => (point) => point[name];
const inTime = (point) => point.interval_ms > 0 ? (point.rows - point.wasted) * 1000 / point.interval_ms : null;

const quantiles = (prefix) => [["p99", "c-p99"], ["p95", "c-p95"], ["p50", "c-p50"]].map(([name, paint]) => ({ label: name, color: paint, value: plain(prefix + name + "_us") }));
const plots = [
  new TimePlot({
    title: "Predictions", unit: "per second", stacked: true, least: 1, tick: number, show: number,
    about: "Predictions that ended, by outcome. refused: 503, for want of room or time; late: 504; bad: the client's fault; gone: the client left.",
    series: [["answered", "ok"], ["refused", "refused"], ["late", "late"], ["bad", "bad"], ["failed", "failed"], ["gone", "gone"]].map(([label, name]) => ({ label, color: "c-" + name, value: rate(name) })),
  }),
  new TimePlot({
    title: "Latency", unit: "of answers", log: true, tick: duration, show: duration, series: quantiles(""),
    about: "From the first byte of a request to the last of its answer; answers alone, refusals do not count. From a histogram: between its bounds the values are estimates.",
  }),
  new TimePlot({
    title: "Queue delay", unit: "until the device", log: true, tick: duration, show: duration, series: quantiles("queue_"),
    about: "From the moment a request is complete until its first batch begins.",
  }),
  new TimePlot({
    title: "Goodput", unit: "rows per second", log: true, tick: number, show: number,
    about: "Rows computed in time, against what the devices are expected to do in full batches. wasted: the answer was late, or its client gone.",
    series: [
      { label: "capacity", color: "c-capacity", dash: true, value: plain("capacity") },
      { label: "wasted", color: "c-wasted", optional: true, value: (point) => point.wasted ? rate("wasted")(point) : null },
      { label: "in time", color: "c-goodput", fill: true, value: inTime },
    ],
  }),
  new BarPlot({
    title: "Batch size", unit: "% of batches, by rows", tick: number,
    about: "How many rows the batches of the time shown had.",
  }),
  new TimePlot({
    title: "Device", unit: "% of the time", top: 100, tick: number, show: percent,
    about: "busy: the part of the time in which a batch was on the device. GPU: the part in which a kernel ran, as NVML tells. process: processor time of this process, 100 % is one core.",
    series: [
      { label: "GPU", color: "c-late", optional: true, value: share("gpu_permille") },
      { label: "process", color: "c-capacity", value: share("cpu_permille") },
      { label: "busy", color: "c-ok", fill: true, value: share("busy_permille") },
    ],
  }),
  new TimePlot({
    title: "Memory", unit: "", binary: true, least: 1048576, tick: bytes, show: bytes,
    about: "resident: of this process. GPU: used, of all its processes, and what there is.",
    series: [
      { label: "GPU total", color: "c-capacity", dash: true, optional: true, value: (point) => point.gpu_memory_total_mib === null ? null : point.gpu_memory_total_mib * 1048576 },
      { label: "GPU", color: "c-late", fill: true, optional: true, value: (point) => point.gpu_memory_mib === null ? null : point.gpu_memory_mib * 1048576 },
      { label: "resident", color: "c-ok", fill: true, value: (point) => point.resident_kib === null ? null : point.resident_kib * 1024 },
    ],
  }),
  new TimePlot({
    title: "In progress", unit: "at each moment", least: 1, tick: number, show: number,
    about: "Predictions that hold a slot of max_concurrency, rows that wait for a batch, and open connections.",
    series: [
      { label: "predictions", color: "c-ok", fill: true, value: plain("in_flight") },
      { label: "rows waiting", color: "c-refused", value: plain("queued_rows") },
      { label: "connections", color: "c-capacity", dash: true, value: plain("connections") },
    ],
  }),
];
const bars = plots[4];

// ---- points

const SUMS = [...OUTCOMES, "interval_ms", "batches", "rows", "wasted"];
const WORST = ["p50_us", "p95_us", "p99_us", "queue_p50_us", "queue_p95_us", "queue_p99_us", "in_flight", "queued_rows", "connections"];

// Several seconds as one point: counts add up, percentiles are those of the worst second, the rest is the mean.
function merge(group) {
  if (group.length === 1) return group[0];
  const out = { ...group[group.length - 1] };
  for (const name of Object.keys(out)) {
    if (name === "t" || name === "batch_rows") continue;
    const known = group.map((point) => point[name]).filter((value) => value !== null);
    if (!known.length) out[name] = null;
    else if (SUMS.includes(name)) out[name] = known.reduce((a, b) => a + b);
    else if (WORST.includes(name)) out[name] = Math.max(...known);
    else out[name] = known.reduce((a, b) => a + b) / known.length;
  }
  return out;
}

function shown() {
  const to = points.length ? points[points.length - 1].t : Date.now(), from = to - range[1] * 1000, step = range[2] * 1000;
  const groups = new Map();
  for (const point of points) {
    if (point.t < from) continue;
    const key = Math.floor(point.t / step);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(point);
  }
  return { from, to, points: [...groups.values()].map(merge) };
}

function takePoints(data) {
  const { seq, t, batch_rows, ...columns } = data, names = Object.keys(columns);
  for (let i = Math.max(0, sequence - (seq - t.length)); i < t.length; i++) { // what is new
    const point = { t: t[i], batch_rows: batch_rows[i] };
    for (const name of names) point[name] = columns[name][i];
    points.push(point);
  }
  sequence = seq;
  points.splice(0, points.length - hello.points);
}

// ---- drawing

let frame = 0;
function redraw() {
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); });
}

function barsOf(from) {
  const counts = hello.bounds.map(() => 0).concat(0);
  for (const point of points) if (point.t >= from) point.batch_rows.forEach((count, i) => { counts[i] += count; });
  let most = hello.bounds.findIndex((bound) => bound >= hello.batch_size);
  if (most < 0) most = counts.length - 1;
  counts.forEach((count, i) => { if (count && i > most) most = i; });
  return counts.slice(0, most + 1).map((count, i) => {
    const low = i ? hello.bounds[i - 1] + 1 : 1, high = hello.bounds[i], range = high === undefined ? low + "+" : low === high ? String(low) : low + "–" + high;
    return { count, label: high === undefined ? ">" + (low - 1) : String(high), name: range + (range === "1" ? " row" : " rows") };
  });
}

function draw() {
  const view = { ...shown(), tick: range[3] * 1000, seconds: range[4], gap: Math.max(3000, range[2] * 2500) };
  if (hover && hover.time !== undefined) {
    const near = view.points.reduce((best, point) => !best || Math.abs(point.t - hover.time) < Math.abs(best.t - hover.time) ? point : best, null);
    view.hover = near;
  }
  view.last = view.hover || view.points[view.points.length - 1];
  for (const plot of plots) if (plot !== bars) plot.draw(view);
  bars.over = hover && hover.bar;
  if (hello.bounds.length) bars.draw(barsOf(view.from));
  tip(view);
  tiles();
}

function tip(view) {
  const node = $("tip");
  const lines = !hover ? null : hover.bar !== undefined ? hover.bar >= 0 && bars.bars && hover.bar < bars.bars.length && hover.plot.tip(hover.bar) : view.hover && hover.plot.tip(view.hover);
  node.hidden = !lines;
  if (!lines) return;
  node.replaceChildren(el("b", {}, lines[0]), ...lines.slice(1).map(([paint, name, value]) => {
    const mark = el("i");
    mark.style.background = color(paint);
    return el("div", {}, el("span", {}, mark, name), el("b", {}, value));
  }));
  const box = node.getBoundingClientRect(), left = hover.x + 16 + box.width > innerWidth ? hover.x - 16 - box.width : hover.x + 16;
  node.style.transform = "translate(" + Math.max(4, left) + "px," + Math.min(Math.max(4, hover.y - box.height / 2), innerHeight - box.height - 4) + "px)";
}

for (const plot of plots) {
  $("plots").append(plot.node);
  plot.canvas.addEventListener("pointermove", (event) => {
    const x = event.clientX - plot.canvas.getBoundingClientRect().left;
    hover = { plot, x: event.clientX, y: event.clientY, ...(plot === bars ? { bar: plot.index(x) } : { time: plot.time(x) }) };
    redraw();
  });
  for (const name of ["pointerleave", "pointercancel"]) plot.canvas.addEventListener(name, () => { hover = null; redraw(); });
}

// ---- the figures at the top: of the last five seconds

const TILES = ["predictions", "answered in time", "median latency", "p99 latency", "p99 queue delay", "rows per batch", "device busy", "in progress"].map((name) => {
  const value = el("b", {}, "–");
  $("tiles").append(el("div", { class: "tile" }, value, el("span", {}, name)));
  return value;
});

function tiles() {
  const recent = points.slice(-5), set = (i, text, unit) => TILES[i].replaceChildren(text, unit ? el("small", {}, unit) : "");
  if (!recent.length) return;
  const sum = (name) => recent.reduce((total, point) => total + (point[name] || 0), 0);
  const worst = (name) => Math.max(...recent.map((point) => point[name] === null ? -Infinity : point[name]));
  const split = (i, text) => { const [value, unit] = text.split(" "); set(i, value, unit); };
  const ended = OUTCOMES.reduce((total, name) => total + sum(name), 0), last = recent[recent.length - 1];
  set(0, number(sum("interval_ms") ? ended * 1000 / sum("interval_ms") : null), "/s");
  const wanted = sum("ok") + sum("refused") + sum("late") + sum("failed"); // what is the server's to answer
  split(1, wanted ? percent(sum("ok") / wanted * 100) : "–");
  split(2, duration(worst("p50_us")));
  split(3, duration(worst("p99_us")));
  split(4, duration(worst("queue_p99_us")));
  set(5, sum("batches") ? number(sum("rows") / sum("batches")) : "–");
  split(6, percent(merge(recent).busy_permille / 10));
  set(7, number(last.in_flight), health ? "of " + health.max_concurrency : "");
}

// ---- what the server says

function pill(node, text, kind) {
  node.textContent = text;
  node.className = "pill " + kind;
}

function uptime(seconds) {
  if (seconds < 120) return Math.floor(seconds) + " s";
  if (seconds < 7200) return Math.floor(seconds / 60) + " min";
  return seconds < 172800 ? Math.floor(seconds / 3600) + " h" : Math.floor(seconds / 86400) + " days";
}

function showHealth() {
  const ready = health.status === "ready", model = health.model;
  const leaves = health.reasons.includes("draining");
  pill($("status"), ready ? "ready" : leaves ? "draining" : "not ready", ready ? "good" : leaves ? "warn" : "bad");
  const names = health.models.length > 1 ? health.models.length + " models" : model ? model.name + " v" + model.version : "no model";
  $("about").textContent = names + " on " + health.device.name + (health.device.count > 1 ? " × " + health.device.count : "") + ", up " + uptime(health.uptime_s);
  document.title = (ready ? "" : "not ready: ") + (model ? model.name : "weir") + " – weir";
  $("server").textContent = health.server;
  showProblems($("problems"), health);
  showDevice($("device"), health);
}

const handlers = {
  hello: (data) => {
    if (data.started_ms !== hello.started_ms) { points = []; sequence = 0; } // another process
    hello = data;
  },
  points: (data) => { takePoints(data); draw(); document.body.classList.remove("first"); },
  health: (data) => { health = data; showHealth(); },
  models: (data) => { showModels($("models"), data); setModels($("try"), data); },
  config: (data) => { config = data; showConfig($("config"), config, $("config-all").checked); },
};

let source = null, retry = 0;
function connect() {
  clearTimeout(retry);
  if (source) source.close();
  source = null;
  if (document.hidden) return; // it connects when somebody looks
  source = new EventSource("ui/events");
  for (const [name, handle] of Object.entries(handlers)) source.addEventListener(name, (event) => { lastEvent = performance.now(); handle(JSON.parse(event.data)); state(); });
  source.onerror = () => {
    state();
    if (source && source.readyState === EventSource.CLOSED) retry = setTimeout(connect, 5000); // refused: too many pages, or it stops
  };
}

function state() {
  const isOpen = source && source.readyState === EventSource.OPEN, isFresh = isOpen && performance.now() - lastEvent < 4000;
  const live = $("live");
  live.className = isFresh ? "on" : "";
  live.textContent = isFresh ? "live" : points.length ? "no data since " + clock(points[points.length - 1].t) : "connecting";
  document.body.classList.toggle("stale", !isFresh && points.length > 0);
  if (!isFresh && performance.now() > 2000) document.body.classList.remove("first");
  if (!isFresh && lastEvent) pill($("status"), "not reached", "warn");
}
setInterval(state, 1000);

// A page that nobody looks at costs the server nothing; it has kept what was missed.
let hiding = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { clearTimeout(retry); if (source) source.close(); source = null; }, HIDDEN_MS);
  else if (!source) connect();
});

for (const one of RANGES) {
  const button = el("button", { type: "button", "aria-pressed": String(one === range) }, one[0]);
  button.addEventListener("click", () => {
    range = one;
    for (const other of $("ranges").children) other.setAttribute("aria-pressed", String(other === button));
    redraw();
  });
  $("ranges").append(button);
}
$("config-all").addEventListener("change", () => { if (config) showConfig($("config"), config, $("config-all").checked); });
new ResizeObserver(redraw).observe($("plots"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
redraw();
connect();
