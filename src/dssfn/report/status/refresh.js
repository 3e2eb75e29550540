"use strict";
// Every two seconds the parts of the page that have changed take the place of the old.
const PAUSE = 2000;
const parts = page => [...page.querySelectorAll("header, .headlines, section, footer")];
async function renew() {
  if (!document.hidden) {
    try {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const before = parts(document), after = parts(fresh);
      if (before.length === after.length) {
        before.forEach((old, place) => {
          if (!old.isEqualNode(after[place])) old.replaceWith(after[place]);
        });
      } else {
        document.body.replaceChildren(...fresh.body.children);
      }
      document.title = fresh.title;
      document.body.classList.remove("stale");
    } catch {
      document.body.classList.add("stale");
    }
  }
  setTimeout(renew, PAUSE);
}
setTimeout(renew, PAUSE);
