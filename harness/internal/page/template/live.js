"use strict";
(() => {
  // The page as it is a second later is laid over the one that is there, so that focus,
  // opened tables and what somebody reads stay.
  const kept = new Set(["aria-pressed", "open"]);
  const setAttributes = (node, next) => {
    for (const { name } of [...node.attributes]) {
      if (!kept.has(name) && !next.hasAttribute(name)) node.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      if (!kept.has(name) && node.getAttribute(name) !== value) node.setAttribute(name, value);
    }
  };
  const same = (a, b) => a.nodeName === b.nodeName && (a.id ?? "") === (b.id ?? "");
  const lay = (node, next) => {
    if (node.nodeType !== Node.ELEMENT_NODE) {
      if (node.data !== next.data) node.data = next.data;
      return;
    }
    if (node.id === "theme" || node.id === "scale" || node.classList.contains("reader") || node.hasAttribute("aria-live")) return;
    setAttributes(node, next);
    let old = node.firstChild;
    for (const child of [...next.childNodes]) {
      let match = old;
      while (match && !same(match, child)) match = match.nextSibling;
      if (!match) {
        node.insertBefore(child, old);
        continue;
      }
      while (old !== match) {
        const gone = old;
        old = old.nextSibling;
        gone.remove();
      }
      old = match.nextSibling;
      lay(match, child);
    }
    while (old) {
      const gone = old;
      old = old.nextSibling;
      gone.remove();
    }
  };
  const show = (event) => {
    const { title, main } = JSON.parse(event.data);
    const next = new DOMParser().parseFromString(main, "text/html").querySelector("main");
    document.title = title;
    lay(document.querySelector("main"), next);
    if (stopping) document.getElementById("stop")?.setAttribute("disabled", "");
    document.dispatchEvent(new Event("dq-update"));
  };

  let stopping = false;
  // The browser goes on asking: what it is sent then is shown in place of this.
  const lost = () => {
    document.title = "connection lost · dq-bench";
    document.querySelector("header").className = "bad";
    document.querySelector(".state").textContent = "connection lost";
    document.getElementById("verdict").textContent =
      "The connection to dq-bench is lost: it has ended, or cannot be reached. The figures are the last that came.";
    document.getElementById("stop")?.setAttribute("disabled", "");
  };
  const source = new EventSource("events");
  source.addEventListener("error", lost);
  source.addEventListener("page", show);
  source.addEventListener("end", (event) => {
    source.close();
    show(event);
  });
  document.addEventListener("click", async (event) => {
    if (event.target.id !== "stop") return;
    stopping = true;
    event.target.setAttribute("disabled", "");
    const token = document.querySelector("meta[name=dq-token]").content;
    try {
      const answer = await fetch("stop", { method: "POST", headers: { "X-DQ-Token": token } });
      stopping = answer.ok;
      if (!answer.ok) event.target.removeAttribute("disabled");
    } catch {
      stopping = false;
      lost();
    }
  });
})();
