"use strict";
(() => {
  const root = document.documentElement;

  // Storage is missing or forbidden in some browsers for files from disk.
  const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* lasts for this page */ } };
  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };

  const themeButton = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const showTheme = () => {
    themeButton.setAttribute("aria-pressed", String(isDark()));
    themeButton.textContent = isDark() ? "light" : "dark";
  };
  const stored = recall("dq-bench-theme");
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  themeButton.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember("dq-bench-theme", root.dataset.theme);
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  const scaleButton = document.getElementById("scale");
  scaleButton?.addEventListener("click", () => {
    const logarithmic = root.dataset.scale === "linear";
    root.dataset.scale = logarithmic ? "log" : "linear";
    scaleButton.setAttribute("aria-pressed", String(logarithmic));
    scaleButton.textContent = logarithmic ? "log scale" : "linear scale";
  });

  // What carries a token of a button that is not pressed is hidden.
  const off = new Set();
  const showToggles = () => {
    for (const button of document.querySelectorAll("[data-toggle]")) {
      button.setAttribute("aria-pressed", String(!off.has(button.dataset.toggle)));
    }
    for (const element of document.querySelectorAll("[data-in]")) {
      element.classList.toggle("off", element.dataset.in.split(" ").some((t) => off.has(t)));
    }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-toggle]");
    if (!button) return;
    const token = button.dataset.toggle;
    if (!off.delete(token)) off.add(token);
    showToggles();
  });
  document.addEventListener("dq-update", showToggles); // of a page that changes

  // Pointing at a chart, or the arrow keys in it, read the nearest row of its table.
  const line = (name, value, color) => {
    const p = document.createElement("p");
    const label = document.createElement("span");
    if (color) {
      const dot = document.createElement("i");
      dot.className = "dot " + color;
      label.append(dot);
    }
    label.append(name);
    const text = document.createElement("b");
    text.textContent = value;
    p.append(label, text);
    return p;
  };
  const watch = (figure) => {
    const frame = figure.querySelector(".frame");
    const reader = figure.querySelector(".reader");
    const [cursor, readout] = reader.children;
    const live = figure.querySelector("[aria-live]");
    let heads = [];
    let rows = [];
    const read = () => {
      heads = [...figure.querySelectorAll("thead th")];
      rows = [...figure.querySelectorAll("tr[data-x]")].map((row) => ({
        x: Number(row.dataset.x), cells: [...row.children].map((cell) => cell.textContent),
      }));
    };
    read();
    document.addEventListener("dq-update", read);
    let current = -1;
    const show = (index) => {
      current = index;
      const row = rows[index];
      const lines = [line(row.cells[0], "")];
      for (let i = 1; i < row.cells.length; i++) {
        if (row.cells[i] && !heads[i].classList.contains("off")) {
          lines.push(line(heads[i].textContent, row.cells[i], heads[i].classList[0]));
        }
      }
      readout.replaceChildren(...lines);
      reader.classList.add("on");
      cursor.style.left = row.x + "%";
      const right = row.x > 55;
      readout.style.left = right ? "auto" : `calc(${row.x}% + 10px)`;
      readout.style.right = right ? `calc(${100 - row.x}% + 10px)` : "auto";
      return lines;
    };
    const hide = () => { reader.classList.remove("on"); current = -1; };
    const nearest = (x) => rows.reduce((best, row, i) => (Math.abs(row.x - x) < Math.abs(rows[best].x - x) ? i : best), 0);
    frame.addEventListener("pointermove", (event) => {
      const plot = [...frame.querySelectorAll(".plot")].find((p) => p.offsetParent);
      if (!rows.length || !plot) return;
      const box = plot.getBoundingClientRect();
      show(nearest((100 * (event.clientX - box.left)) / box.width));
    });
    frame.addEventListener("pointerleave", hide);
    frame.addEventListener("blur", hide);
    frame.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return hide();
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !rows.length) return;
      event.preventDefault();
      const lines = show(Math.min(Math.max(current + step, 0), rows.length - 1));
      live.textContent = lines.map((l) => [...l.children].map((c) => c.textContent).join(" ")).join(", ");
    });
  };
  document.querySelectorAll(".chart").forEach(watch);
})();
