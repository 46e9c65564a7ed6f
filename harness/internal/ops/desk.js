"use strict";
// The part "live" is fetched again; a page whose server is gone turns pale.
setInterval(async () => {
  const old = document.getElementById("live");
  if (!/(^|\/)(queue)?$/.test(location.pathname) || document.hidden) return;
  try {
    const from = new URL(location.href);
    from.searchParams.set("live", "1");
    const answer = await fetch(from, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    old.replaceWith(page.getElementById("live"));
    document.querySelector("h1").textContent = page.querySelector("h1").textContent;
    document.querySelector("header").className = page.querySelector("header").className;
    document.body.classList.remove("stale");
  } catch {
    document.body.classList.add("stale");
  }
}, 2000);
