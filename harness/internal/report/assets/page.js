"use strict";
(() => {
  const root = document.documentElement;
  const css = (name) => getComputedStyle(probe(name)).color; // light-dark() resolves only in a property
  const probe = (name) => { span.style.color = `var(--${name})`; return span; };
  const span = document.body.appendChild(document.createElement("span"));
  span.hidden = true;

  // Figures as people read them.
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const digits = (v) => (v === 0 ? "0" : String(Number(v.toPrecision(3))));
  const duration = (ns) => {
    const [size, unit] = units.find(([size]) => Math.abs(ns) >= 0.9995 * size) ?? [1, "ns"];
    return ns === 0 ? "0" : `${digits(ns / size)} ${unit}`.replace("-", "−");
  };
  const percent = (nines) => `${Number((100 * (1 - 10 ** -nines)).toFixed(Math.max(0, Math.ceil(nines) - 1)))} %`;
  const write = {
    ns: duration, count: (v) => v.toLocaleString("en").replaceAll(",", " "), share: (v) => `${digits(100 * v)} %`, ratio: (v) => `${digits(v)}×`,
    s: (v) => (v >= 120 ? `${digits(v / 60)} min` : `${digits(v)} s`), nines: percent, name: (v, chart) => chart.names[Math.round(v)] ?? "",
  };

  // A chart of report.Chart.
  const styles = {
    line: { width: 2 }, dash: { width: 1.3, dash: [6, 4] }, dotted: { width: 2, dash: [1, 4] }, area: { width: 2, fill: true }, steps: { width: 2.2, paths: uPlot.paths.stepped({ align: 1 }) },
    dots: { paths: () => null, points: { show: true, size: 5 } }, high: { width: 0 }, low: { width: 0 },
  };
  const fade = (color, share) => `color-mix(in srgb, ${color} ${share}%, transparent)`;
  const series = (s) => {
    const { fill, points, ...style } = styles[s.style];
    const color = css("c" + (s.side % 8));
    return { label: s.label, stroke: color, ...style, fill: fill && fade(color, 12), points: points ? { ...points, fill: color } : { show: (u, i) => u.data[i].filter(v => v != null).length == 1, size: 5, fill: color } };
  };
  const bands = (all) => all.flatMap((s, i) => (s.style === "high" ? [{ series: [i + 1, i + 2], fill: fade(css("c" + (s.side % 8)), 14) }] : []));
  const marks = (chart) => (u) => {
    const at = (x) => Math.round(u.valToPos(x, "x", true));
    const [left, right] = [u.bbox.left, u.bbox.left + u.bbox.width];
    u.ctx.save();
    Object.assign(u.ctx, { strokeStyle: css("soft"), lineWidth: devicePixelRatio, textBaseline: "top", font: `${12 * devicePixelRatio}px system-ui` });
    for (const mark of chart.marks ?? []) {
      const [x, to] = [at(mark.x), at(mark.to ?? mark.x)];
      if (to < left || x > right) continue;
      u.ctx.fillStyle = fade(css("bad"), 16);
      if (mark.to) u.ctx.fillRect(Math.max(x, left), u.bbox.top, Math.min(to, right) - Math.max(x, left), u.bbox.height);
      u.ctx.fillStyle = css(mark.to ? "bad" : "soft");
      if (!mark.to) {
        u.ctx.setLineDash([4, 4]);
        u.ctx.beginPath();
        u.ctx.moveTo(x, u.bbox.top);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
      }
      const far = x > left + 0.7 * u.bbox.width;
      u.ctx.textAlign = far ? "right" : "left";
      u.ctx.fillText(mark.label, x + (far ? -4 : 4) * devicePixelRatio, u.bbox.top);
    }
    u.ctx.restore();
  };
  const nines = (u, axis, min, max) => (u.width < 600 ? [0, 1, 2, 3, 5, 7] : [0, Math.log10(2), Math.log10(4), 1, 2, 3, 4, 5, 6, 7, 8]).filter((v) => v >= min && v <= max);
  const axis = (unit, chart, more) => ({
    stroke: css("soft"), grid: { stroke: css("line"), width: 1 }, ticks: { stroke: css("line"), width: 1, size: 4 }, font: "12px system-ui",
    filter: (u, splits) => splits, values: (u, splits) => splits.map((v) => write[unit](v, chart)), ...more,
  });
  const data = (chart) => [chart.x ?? [], ...chart.series.map((s) => s.y ?? [])]; // null before the first second
  const plots = new Map();
  let logarithmic = true;
  const draw = (element, chart) => {
    plots.get(element)?.destroy();
    const log = chart.log && logarithmic;
    const u = new uPlot({
      padding: [null, 24, null, null], width: element.clientWidth, height: element.closest(".wide") ? 280 : 200,
      cursor: { y: false, sync: { key: chart.xUnit, scales: ["x", null] }, drag: { x: true, y: false, setScale: true } },
      scales: { x: { time: false }, y: log ? { distr: 4, asinh: 1e5 } : { range: (u, min, max) => (chart.yUnit === "ratio" ? [0.95 * Math.min(1, min), 1.05 * Math.max(1, max)] : [Math.min(0, min), max * (chart.marks ? 1.25 : 1.06) || 1]) } },
      axes: [
        axis(chart.xUnit, chart, chart.xUnit === "nines" ? { size: 34, splits: nines } : { size: 34, space: chart.xUnit === "name" ? 90 : 60, incrs: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600] }),
        axis(chart.yUnit, chart, { size: 60, ...(log && { splits: (u, i, min, max) => decades(min, max) }) }),
      ],
      series: [{ label: chart.id === "rate" ? "rate" : chart.xUnit === "name" ? "set" : "at", value: (u, v) => (v == null ? "" : write[chart.xUnit](v, chart)) },
        ...chart.series.map((s) => ({ ...series(s), value: (u, v) => (v == null ? "" : write[chart.yUnit](v, chart)) }))],
      bands: bands(chart.series),
      legend: { markers: { dash: (u, i) => ({ dash: "dashed", dots: "dotted" })[chart.series[i - 1].style] ?? "solid" } },
      hooks: { draw: [marks(chart)], setSelect: [(u) => { u.zoomed = true; }], setScale: [(u, scale) => { if (scale === "x") element.dataset.zoom = [u.scales.x.min, u.scales.x.max]; }] },
    }, data(chart), element);
    u.root.querySelectorAll(".u-series").forEach((row, i) => { if (["high", "low", "dotted"].includes(chart.series[i - 1]?.style)) row.hidden = true; });
    plots.set(element, u);
  };
  const decades = (min, max) => {
    const at = [0];
    for (let e = 5; e <= 13; e++) for (const f of [1, 3]) at.push(f * 10 ** e, -f * 10 ** e);
    return at.filter((v) => v >= min && v <= max).sort((a, b) => a - b);
  };

  // What a chart has besides uPlot: the keyboard, and its figures to take away.
  const save = (name, blob) => Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name }).click();
  const csv = (chart) => [["x", ...chart.series.map((s) => s.label)], ...chart.x.map((x, i) => [chart.names?.[i] ?? x, ...chart.series.map((s) => s.y[i] ?? "")])]
    .map((row) => row.map((v) => (/[",\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v)).join(",")).join("\n");
  const tools = (element, chart) => {
    const bar = Object.assign(document.createElement("div"), { className: "tools" });
    for (const [label, act] of [
      ["whole", () => eachPlot((e, c) => { if (c.xUnit === chart.xUnit) { plots.get(e).zoomed = false; plots.get(e).setData(data(c)); } })],
      ...(chart.log ? [["linear / log", () => { logarithmic = !logarithmic; drawAll(); }]] : []),
      ["CSV", () => save(chart.id + ".csv", new Blob([csv(chart)], { type: "text/csv" }))],
      ["PNG", () => plots.get(element).ctx.canvas.toBlob((blob) => save(chart.id + ".png", blob))],
    ]) {
      bar.append(Object.assign(document.createElement("button"), { type: "button", textContent: label, onclick: act }));
    }
    element.before(bar);
    element.addEventListener("dblclick", () => { plots.get(element).zoomed = false; });
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const u = plots.get(element);
      const index = Math.min(Math.max((u.cursor.idx ?? -1) + step, 0), chart.x.length - 1);
      eachPlot((e, c) => { if (c.xUnit === chart.xUnit) plots.get(e).setCursor({ left: plots.get(e).valToPos(chart.x[index], "x"), top: 10 }); });
    });
  };
  let charts = JSON.parse(document.getElementById("charts").textContent) ?? [];
  const chartOf = (element) => charts.find((chart) => chart.id === element.dataset.chart);
  const eachPlot = (act) => document.querySelectorAll("[data-chart]").forEach((element) => act(element, chartOf(element)));
  const drawAll = () => eachPlot(draw);
  const begin = () => { eachPlot(tools); drawAll(); tables(); };
  addEventListener("resize", () => eachPlot((element) => plots.get(element).setSize({ width: element.clientWidth, height: plots.get(element).height })));

  // Tables sort by a click on a head, and long ones filter.
  const key = (row, i) => {
    const { dataset, textContent } = row.cells[i];
    const number = textContent.replace("−", "-").match(/^[+~]?(-?\d+(\.\d+)?)(?=$|×| …| %)/); // of a percentage, or of an interval its beginning
    return dataset.raw !== undefined ? Number(dataset.raw) : number ? Number(number[1]) : textContent;
  };
  const tables = () => document.querySelectorAll("section table:not(.u-legend)").forEach((table) => {
    const body = table.tBodies[0];
    if (body.rows.length < 2) return;
    const sort = (head) => {
      const up = head.ariaSort !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
      head.ariaSort = up ? "ascending" : "descending";
      const i = head.cellIndex;
      body.append(...[...body.rows].map((row) => [key(row, i), row]).sort(([a], [b]) => (up ? 1 : -1) * (a > b ? 1 : a < b ? -1 : 0)).map(([, row]) => row));
    };
    for (const head of table.tHead.rows[0].cells) {
      Object.assign(head, { tabIndex: 0, className: "sortable", onclick: () => sort(head), onkeydown: (event) => { if (event.key === "Enter") sort(head); } });
    }
    if (body.rows.length < 12) return;
    const filter = Object.assign(document.createElement("input"), { className: "filter", type: "search", placeholder: `filter ${body.rows.length} rows`, ariaLabel: "filter" });
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    filter.setAttribute("form", ""); // which Enter does not send
    table.parentElement.before(filter);
  });

  // Light and dark; the choice lasts where the browser keeps it.
  const store = (theme) => { try { return theme ? localStorage.setItem("dq-theme", theme) : localStorage.getItem("dq-theme"); } catch { return null; } };
  const chosen = store();
  if (chosen) root.dataset.theme = chosen;
  document.addEventListener("click", (event) => {
    if (event.target.id !== "theme") return;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    store(root.dataset.theme = dark ? "light" : "dark");
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  begin();

  // A page that its server keeps up to date, and whose run it can stop.
  const token = document.querySelector("meta[name=dq-token]")?.content;
  if (token === undefined) return;
  const follow = (u, chart) => { // keeps the zoom; the y axis follows
    const { min, max } = u.scales.x;
    u.setData(data(chart), !u.zoomed);
    if (u.zoomed) u.setScale("x", { min, max });
  };
  const source = new EventSource("events");
  const update = (event) => {
    const state = JSON.parse(event.data);
    document.title = state.title;
    charts = state.charts;
    const next = new DOMParser().parseFromString(state.main, "text/html").body;
    for (const hidden of next.querySelectorAll("noscript")) hidden.remove();
    const fresh = [...next.querySelectorAll("section.chart")].filter((section) => {
      const old = document.getElementById(section.id); // with its zoom, and where the pointer is
      const plot = old && plots.get(old.querySelector("[data-chart]"));
      const keep = plot && plot.series.length === chartOf(section.querySelector("[data-chart]")).series.length + 1;
      if (keep) section.replaceWith(old);
      return !keep;
    });
    const focused = document.activeElement.id;
    document.querySelector("main").replaceChildren(...next.childNodes);
    document.getElementById(focused)?.focus();
    tables();
    eachPlot((element, chart) => {
      if (fresh.includes(element.parentElement)) { tools(element, chart); draw(element, chart); }
      else follow(plots.get(element), chart);
    });
  };
  source.addEventListener("page", update);
  source.addEventListener("end", (event) => { source.close(); update(event); });
  source.addEventListener("error", () => {
    document.getElementById("verdict").textContent = "The connection to dq-bench is lost. The figures are the last ones received.";
    document.getElementById("tag").textContent = "connection lost";
    document.getElementById("stop").disabled = true;
  });
  document.addEventListener("click", (event) => {
    if (event.target.id === "stop") fetch("stop", { method: "POST", headers: { "X-DQ-Token": token } });
  });
})();
