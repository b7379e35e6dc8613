// Plots on canvases, drawn by hand: time series with a shared crosshair, and bars.

export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") node.className = value;
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// ---- numbers for people

export function number(value, digits = 3) {
  if (value === null || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return trim(value / 1e9, digits) + "G";
  if (size >= 1e6) return trim(value / 1e6, digits) + "M";
  if (size >= 1e4) return trim(value / 1e3, digits) + "k";
  if (size >= 100 || value === Math.round(value)) return String(Math.round(value));
  return trim(value, digits);
}

function trim(value, digits) {
  return String(Number(value.toPrecision(digits)));
}

export function duration(us) {
  if (us === null || !isFinite(us)) return "–";
  if (us < 1000) return Math.round(us) + " µs";
  if (us < 1e6) return trim(us / 1e3, 3) + " ms";
  return trim(us / 1e6, 3) + " s";
}

export function percent(value) {
  if (value === null || !isFinite(value)) return "–";
  return (value > 0 && value < 0.1 ? "<0.1" : value >= 99.95 && value < 100 ? "99.9" : trim(value, 3)) + " %";
}

export function bytes(value) {
  if (value === null || !isFinite(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (value >= 1024 && i < units.length - 1) { value /= 1024; i++; }
  return trim(value, value >= 100 ? Math.ceil(Math.log10(value + 1)) : 3) + " " + units[i];
}

export function clock(ms, seconds = true) {
  const at = new Date(ms), two = (n) => String(n).padStart(2, "0");
  return two(at.getHours()) + ":" + two(at.getMinutes()) + (seconds ? ":" + two(at.getSeconds()) : "");
}

// ---- colours, which follow the system's light or dark

const style = getComputedStyle(document.documentElement);
export const color = (name) => style.getPropertyValue("--" + name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

// ---- scales

function niceStep(span, count, base) {
  const raw = span / count, power = Math.pow(base, Math.floor(Math.log(raw) / Math.log(base)));
  const steps = base === 10 ? [1, 2, 2.5, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  for (const step of steps) if (step * power >= raw * 0.999) return step * power;
  return base * power;
}

function linear(most, options) {
  const fixed = options.top >= most ? options.top : 0, top = fixed || Math.max(most * 1.06, options.least || 1e-9);
  const step = niceStep(top, 3, options.binary ? 1024 : 10), ticks = [];
  const end = fixed || Math.ceil(top / step - 1e-9) * step;
  for (let at = 0; at <= end * 1.0001; at += step) ticks.push(at);
  return { ticks, place: (value) => Math.min(1, value / end) };
}

function logarithmic(least, most) {
  let from = Math.floor(Math.log10(Math.max(least, 1))), to = Math.ceil(Math.log10(Math.max(most, 10)) - 1e-9);
  if (to - from < 2) to - 1 >= 1 && from > 0 ? from-- : to++;
  const ticks = [];
  for (let at = from; at <= to; at++) ticks.push(Math.pow(10, at));
  return { ticks, place: (value) => (Math.log10(Math.max(value, Math.pow(10, from))) - from) / (to - from) };
}

// ---- drawing

const LEFT = 54, RIGHT = 6, TOP = 6, BOTTOM = 18;

class Canvas {
  constructor(options) {
    this.options = options;
    this.canvas = el("canvas", { role: "img" });
    this.context = this.canvas.getContext("2d");
    this.legend = el("div", { class: "legend" });
    this.node = el("div", { class: "plot" }, el("h3", { title: options.about }, options.title, el("span", { class: "unit" }, options.unit)), this.legend, this.canvas);
    this.width = 0;
  }

  // Fits the bitmap to the element. False: it is not to be seen.
  begin() {
    const box = this.canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    if (box.width < 80) return false;
    const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) { this.canvas.width = width; this.canvas.height = height; }
    this.width = box.width - LEFT - RIGHT;
    this.height = box.height - TOP - BOTTOM;
    const c = this.context;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, box.width, box.height);
    c.font = "11px " + style.fontFamily;
    c.lineJoin = "round";
    return true;
  }

  y(scale, value) { return TOP + this.height * (1 - scale.place(value)); }

  rule(scale) {
    const c = this.context;
    c.textAlign = "right"; c.textBaseline = "middle"; c.lineWidth = 1;
    const skip = scale.ticks.length > 6 ? 2 : 1;
    scale.ticks.forEach((tick, i) => {
      const y = Math.round(this.y(scale, tick)) + 0.5;
      c.strokeStyle = color(i === 0 ? "line" : "grid");
      c.beginPath(); c.moveTo(LEFT, y); c.lineTo(LEFT + this.width, y); c.stroke();
      c.fillStyle = color("soft");
      if (i % skip === 0) c.fillText(this.options.tick(tick), LEFT - 7, y);
    });
  }
}

function label(series, text) {
  const mark = el("i", { class: series.dash ? "dash" : "" }), value = el("b", {}, text);
  mark.style.background = mark.style.borderColor = color(series.color);
  return { node: el("span", {}, mark, series.label, value), mark, value };
}

// Options: title, unit, about, tick(value), show(value), series [{label, color, value(point), dash, fill}], stacked, log, top,
// least, binary.
export class TimePlot extends Canvas {
  constructor(options) {
    super(options);
    this.labels = options.series.map((series) => label(series, "–"));
    this.legend.append(...this.labels.map((one) => one.node));
    dark.addEventListener("change", () => this.labels.forEach((one, i) => { one.mark.style.background = one.mark.style.borderColor = color(options.series[i].color); }));
  }

  at(time) { return LEFT + this.width * (time - this.from) / (this.to - this.from); }
  time(x) { return this.from + (this.to - this.from) * (x - LEFT) / this.width; }

  draw(view) {
    const { options } = this, points = view.points, last = view.last;
    options.series.forEach((series, i) => {
      const value = last ? series.value(last) : null, text = options.show(value);
      if (this.labels[i].value.textContent !== text) this.labels[i].value.textContent = text;
      this.labels[i].node.hidden = Boolean(series.optional) && !points.some((point) => series.value(point) !== null);
    });
    if (!this.begin()) return;
    this.from = view.from; this.to = view.to;
    const columns = options.series.map((series) => points.map((point) => series.value(point)));
    const base = options.stacked ? this.stack(columns) : null;
    let least = Infinity, most = 0;
    for (const column of columns) for (const value of column) if (value !== null) { least = Math.min(least, value); most = Math.max(most, value); }
    const scale = options.log ? logarithmic(least, most) : linear(most, options);
    this.rule(scale);
    this.times(view);
    const c = this.context;
    c.save();
    c.beginPath(); c.rect(LEFT, TOP - 2, this.width, this.height + 3); c.clip();
    for (let i = columns.length - 1; i >= 0; i--) this.trace(options.series[i], columns[i], base && i > 0 ? columns[i - 1] : null, points, scale, view.gap);
    c.restore();
    if (view.hover) this.cross(view.hover);
    if (!most && !points.length) this.say("no data yet");
    this.canvas.setAttribute("aria-label", options.title + ": " + options.series.map((series, i) => series.label + " " + this.labels[i].value.textContent).join(", "));
  }

  stack(columns) {
    for (let i = 1; i < columns.length; i++) for (let k = 0; k < columns[i].length; k++) columns[i][k] = (columns[i][k] || 0) + (columns[i - 1][k] || 0);
    return true;
  }

  times(view) {
    const c = this.context, step = view.tick;
    c.textAlign = "center"; c.textBaseline = "alphabetic"; c.fillStyle = color("soft"); c.strokeStyle = color("grid");
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
      const x = Math.round(this.at(at)) + 0.5;
      c.beginPath(); c.moveTo(x, TOP); c.lineTo(x, TOP + this.height); c.stroke();
      const text = clock(at, view.seconds), half = c.measureText(text).width / 2;
      if (x + half < LEFT + this.width + RIGHT && x - half > LEFT - 20) c.fillText(text, x, TOP + this.height + 14);
    }
  }

  // One series, in runs without gaps; an area down to `below` (or 0) if stacked or filled.
  trace(series, column, below, points, scale, gap) {
    const c = this.context, paint = color(series.color);
    let run = [];
    const end = () => {
      if (!run.length) return;
      if (this.options.stacked || series.fill) {
        c.beginPath();
        run.forEach((k, n) => c[n ? "lineTo" : "moveTo"](this.at(points[k].t), this.y(scale, column[k])));
        for (let n = run.length - 1; n >= 0; n--) c.lineTo(this.at(points[run[n]].t), this.y(scale, below ? below[run[n]] || 0 : 0));
        c.closePath();
        c.globalAlpha = this.options.stacked ? 0.85 : 0.16; c.fillStyle = paint; c.fill(); c.globalAlpha = 1;
      }
      if (!this.options.stacked) {
        c.beginPath();
        run.forEach((k, n) => c[n ? "lineTo" : "moveTo"](this.at(points[k].t), this.y(scale, column[k])));
        if (run.length === 1) c.lineTo(this.at(points[run[0]].t) + 1.5, this.y(scale, column[run[0]]));
        c.strokeStyle = paint; c.lineWidth = 1.6; c.setLineDash(series.dash ? [4, 3] : []); c.stroke(); c.setLineDash([]);
      }
      run = [];
    };
    for (let k = 0; k < points.length; k++) {
      if (column[k] === null || (run.length && points[k].t - points[k - 1].t > gap)) end();
      if (column[k] !== null) run.push(k);
    }
    end();
  }

  cross(point) {
    const c = this.context, x = Math.round(this.at(point.t)) + 0.5;
    if (x < LEFT) return;
    c.strokeStyle = color("soft"); c.lineWidth = 1;
    c.beginPath(); c.moveTo(x, TOP); c.lineTo(x, TOP + this.height); c.stroke();
  }

  say(text) {
    const c = this.context;
    c.textAlign = "center"; c.textBaseline = "middle"; c.fillStyle = color("soft");
    c.fillText(text, LEFT + this.width / 2, TOP + this.height / 2);
  }

  tip(point) {
    const rows = this.options.series.map((series) => [series, series.value(point)]).filter((row) => row[1] !== null);
    return [clock(point.t), ...rows.map(([series, value]) => [series.color, series.label, this.options.show(value)])];
  }
}

// Bars: shares of a whole. draw([{label, name, count}]).
export class BarPlot extends Canvas {
  draw(bars) {
    const whole = bars.reduce((sum, bar) => sum + bar.count, 0);
    this.bars = bars; this.whole = whole;
    if (!this.begin()) return;
    const c = this.context, share = (bar) => whole ? bar.count / whole * 100 : 0;
    const scale = linear(Math.max(...bars.map(share), 10), {});
    this.rule(scale);
    const slot = this.width / bars.length, skip = slot < 26 ? 2 : 1;
    c.textAlign = "center"; c.textBaseline = "alphabetic";
    bars.forEach((bar, i) => {
      const y = this.y(scale, share(bar)), x = LEFT + i * slot + slot * 0.14;
      c.fillStyle = color("c-ok"); c.globalAlpha = this.over === i ? 1 : 0.85;
      c.fillRect(x, y, slot * 0.72, TOP + this.height - y);
      c.globalAlpha = 1; c.fillStyle = color("soft");
      if (i % skip === 0) c.fillText(bar.label, LEFT + (i + 0.5) * slot, TOP + this.height + 14);
    });
    this.canvas.setAttribute("aria-label", this.options.title + ": " + bars.map((bar) => bar.name + " " + percent(share(bar))).join(", "));
  }

  index(x) {
    const i = Math.floor((x - LEFT) / this.width * (this.bars || []).length);
    return i >= 0 && i < (this.bars || []).length ? i : -1;
  }

  tip(i) {
    const bar = this.bars[i];
    return [bar.name, ["c-ok", "batches", number(bar.count)], ["c-ok", "share", percent(this.whole ? bar.count / this.whole * 100 : 0)]];
  }
}
