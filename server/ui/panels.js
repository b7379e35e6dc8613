// Health, models with their rollouts, device, and configuration.
import { bytes, duration, el, number, percent } from "./plots.js";

const KINDS = { serving: "good", canary: "busy", shadow: "busy", ready: "", loading: "busy", found: "", incomplete: "warn", failed: "bad" };
const ms = (value) => value > 0 ? duration(value * 1000) : "–";

function table(heads, rows) {
  const cells = (tag, row) => row.map((cell, i) => el(tag, { class: heads[i][1] || "" }, cell));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...cells("th", heads.map((head) => head[0])))), el("tbody", {}, ...rows.map((row) => Array.isArray(row) ? el("tr", {}, ...cells("td", row)) : row))));
}

// Replaces what a node shows, unless it is the same: selections and focus stay.
function show(node, ...children) {
  const next = el("div", {}, ...children);
  if (node.innerHTML !== next.innerHTML) node.replaceChildren(...next.childNodes);
}

export function showProblems(node, health) {
  const items = health.reasons.map((reason) => [reason, ""]);
  if (health.device.fallback && !/no NVIDIA device/.test(health.device.reason)) items.push(["on the CPU: " + health.device.reason, "warn"]);
  if (health.last_reload === "refused") items.push(["the last reload of the configuration was refused: the former one holds, and the log says why", "warn"]);
  for (const model of health.models) {
    if (model.problem) items.push([model.name + ": " + model.problem, "warn"]);
    for (const fault of model.faults || []) items.push([model.name + " version " + fault.version + " is " + fault.state + ": " + fault.reason, "warn"]);
  }
  (health.device.states || []).forEach((state, i) => { if (state !== "ok") items.push(["device " + i + " is " + state, state === "lost" ? "" : "warn"]); });
  node.hidden = items.length === 0;
  show(node, ...items.map(([text, kind]) => el("li", { class: kind }, text)));
}

function samples(version) {
  if (!version.samples) return "none";
  return version.samples.count + (version.samples.runs ? " agree" : "");
}

function traffic(view, version) {
  const rollout = view.rollout;
  if (version.state === "canary") return percent(rollout.weight_percent);
  if (version.state === "shadow") return "copies of " + percent(rollout.shadow_percent);
  if (version.state === "serving") return percent(rollout ? 100 - rollout.weight_percent : 100);
  return "–";
}

function rolloutOf(view) {
  const rollout = view.rollout, isShadow = rollout.kind === "shadow";
  const stable = rollout.seen_stable, candidate = rollout.seen_candidate, compared = rollout.comparison;
  const part = (seen, name) => seen.requests ? seen[name] / seen.requests * 100 : null;
  const ratio = (a, b) => b > 0 && a > 0 ? "× " + number(a / b, 3) : "–";
  const times = (a, b) => a !== null && b !== null && b > 0 ? "× " + number(a / b, 2) : a > 0 ? "new" : "–";
  const stages = rollout.steps.split(",").map((text) => text.trim()).filter(Boolean);
  const split = el("div", { class: "split", role: "img", "aria-label": "the candidate gets " + percent(rollout.weight_percent) }, el("i", { class: "stable" }), el("i", { class: "candidate" }));
  split.children[0].style.width = 100 - rollout.weight_percent + "%";
  split.children[1].style.width = rollout.weight_percent + "%";
  const seen = isShadow ? [] : [
    ["requests", number(stable.requests), number(candidate.requests), ""],
    ["errors", percent(part(stable, "errors")), percent(part(candidate, "errors")), times(part(candidate, "errors"), part(stable, "errors"))],
    ["late", percent(part(stable, "late")), percent(part(candidate, "late")), times(part(candidate, "late"), part(stable, "late"))],
    ["NaN or infinite", percent(part(stable, "non_finite")), percent(part(candidate, "non_finite")), ""],
    ["median", ms(stable.p50_ms), ms(candidate.p50_ms), ratio(candidate.p50_ms, stable.p50_ms)],
    ["p99", ms(stable.p99_ms), ms(candidate.p99_ms), ratio(candidate.p99_ms, stable.p99_ms)],
  ];
  const same = compared.requests ? [
    el("dt", {}, "compared"), el("dd", {}, number(compared.requests) + " requests, " + number(compared.rows) + " rows on the same inputs"),
    el("dt", {}, "same decision"), el("dd", {}, compared.agreement === null ? "no decisions to compare" : percent(compared.agreement * 100)),
    el("dt", {}, "largest difference"), el("dd", {}, number(compared.max_error, 3) + " (" + number(compared.max_relative_error, 3) + " relative), " + number(compared.unequal) + " values unequal"),
    el("dt", {}, "computing time"), el("dd", {}, compared.compute_ratio === null ? "–" : "× " + number(compared.compute_ratio, 3)),
  ] : [el("dt", {}, "compared"), el("dd", {}, "nothing yet")];
  return el("div", { class: "rollout" },
    el("div", { class: "head" }, el("h3", {}, (isShadow ? "Shadow: version " : "Canary: version ") + rollout.candidate), el("span", { class: "pill busy" }, rollout.phase),
      el("span", { class: "quiet" }, isShadow ? "copies of " + percent(rollout.shadow_percent) + " of the requests" : percent(rollout.weight_percent) + " of the requests")),
    isShadow ? null : split,
    isShadow || !stages.length ? null : el("ol", { class: "steps" }, ...stages.map((text, i) => el("li", { class: i + 1 < rollout.step ? "done" : i + 1 === rollout.step ? "now" : "" }, text))),
    rollout.waits_for ? el("p", { class: "quiet" }, rollout.waits_for) : null,
    seen.length ? table([["check"], ["version " + view.stable, "num"], ["version " + rollout.candidate, "num"], ["", "num"]], seen) : null,
    el("dl", {}, ...same));
}

export function showModels(node, models) {
  show(node, ...models.map(({ view, serving }) => el("div", { class: "card" },
    el("div", { class: "head" }, el("h3", {}, view.name || "(not looked at yet)"), el("span", { class: "path" }, view.path)),
    serving ? el("p", { class: "quiet" }, [...serving.inputs, ...serving.outputs].map((tensor, i) => (i === serving.inputs.length ? "→ " : "") + tensor.name + " " + tensor.dtype + shape(tensor)).join(" ")) : null,
    view.problem ? el("p", { class: "problem" }, view.problem) : null,
    view.versions.length ? table([["version"], ["state"], ["requests", "num"], ["samples"], ["loaded in", "num"]],
      view.versions.flatMap((version) => [[String(version.version), el("span", { class: "pill " + (version.rejected ? "bad" : KINDS[version.state] || "") }, version.rejected ? "rolled back" : version.state),
        traffic(view, version), samples(version), ms(version.load_ms)], ...(version.reason ? [el("tr", {}, el("td", { class: "reason", colspan: "5" }, version.reason))] : [])])) : el("p", { class: "quiet" }, "no version lies there"),
    view.rollout ? rolloutOf(view) : null,
    view.last_rollout ? el("p", { class: "quiet" }, "last rollout: " + view.last_rollout) : null)));
}

function shape(tensor) {
  return "[" + tensor.shape.map((size, i) => size >= 0 ? size : i ? "?" : "n").join(" × ") + "]";
}

export function showDevice(node, health) {
  const device = health.device;
  const gpus = (device.gpus || []).map((gpu) => [gpu.name || gpu.bus_id, gpu.unavailable || (gpu.lost ? "lost" : ""),
    gpu.utilization === undefined ? "–" : percent(gpu.utilization * 100), gpu.memory_used_bytes === undefined ? "–" : bytes(gpu.memory_used_bytes) + " of " + bytes(gpu.memory_total_bytes),
    gpu.temperature_celsius === undefined ? "–" : gpu.temperature_celsius + " °C", gpu.power_watts === undefined ? "–" : Math.round(gpu.power_watts) + " W"]);
  show(node, el("div", { class: "card" },
    el("dl", {}, el("dt", {}, "device"), el("dd", {}, device.name + (device.count > 1 ? " × " + device.count : "") + ", " + device.states.join(", ")),
      el("dt", {}, "what"), el("dd", {}, device.description), el("dt", {}, "why"), el("dd", {}, device.reason),
      ...((health.model && health.model.on_devices) || []).flatMap((text) => [el("dt", {}, "model"), el("dd", {}, text)])),
    gpus.length ? table([["GPU"], [""], ["used", "num"], ["memory", "num"], ["temperature", "num"], ["power", "num"]], gpus) : null));
}

export function showConfig(node, config, all) {
  const keys = config.keys.filter((key) => all || !key.default);
  const row = (key) => {
    const isPlain = key.default, value = key.value === "" ? "–" : key.value + (key.unit && /^\d+$/.test(key.value) ? " " + key.unit : "");
    return el("tr", { class: isPlain ? "plain" : "" }, el("td", { title: key.sentence + (key.reloads ? " SIGHUP applies it." : " It needs a restart.") }, el("code", {}, key.key)),
      el("td", {}, value), el("td", {}, key.origin), el("td", { class: "sentence" }, key.sentence));
  };
  show(node, el("div", { class: "card scroll" }, keys.length ? el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "key"), el("th", {}, "value"), el("th", {}, "from"), el("th", { class: "wide" }, "meaning"))),
    el("tbody", {}, ...keys.map(row))) : el("p", { class: "quiet" }, "Every key has its default.")));
}
