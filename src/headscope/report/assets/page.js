"use strict";
// Around the interactive atlas: links to heads, one theme for the whole page. Without it the page is a page.
(() => {
  const root = document.documentElement;
  const place = document.getElementById("headscope");
  const heading = document.getElementById("explore");
  if (!place || !heading) return;
  root.dataset.live = "";

  const isState = (fragment) => fragment.includes("=");
  const goTo = (target) => {
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
    if (!target.hasAttribute("tabindex")) target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
  };

  // On a narrow page a head's page stands below the heads.
  const isBelow = () => {
    const [heads, page] = [".at-plot", ".at-beside"].map((part) => place.querySelector(part)?.getBoundingClientRect());
    return Boolean(heads && page && page.top >= heads.bottom - 1);
  };

  document.addEventListener("click", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    if (!link) return;
    const fragment = link.getAttribute("href").slice(1);
    if (isState(fragment)) {
      // The atlas follows the address. What the link does not name, such as the colouring, stays.
      event.preventDefault();
      const state = new URLSearchParams(isState(location.hash) ? location.hash.slice(1) : "");
      for (const [key, value] of new URLSearchParams(fragment)) state.set(key, value);
      location.hash = state.toString();
      if (state.has("heads") && isBelow()) place.querySelector(".at-beside").scrollIntoView({ behavior: "instant" });
      else goTo(heading);
      return;
    }
    const target = document.getElementById(fragment);
    if (!target) return;
    // An address that names a section would make the atlas forget what it shows.
    event.preventDefault();
    goTo(target);
  });

  // Where the browser does not unfold what it prints by itself.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const fold of unfolded) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
  });

  const follow = () => {
    const theme = place.querySelector(".headscope")?.getAttribute("data-theme");
    if (theme) root.dataset.theme = theme;
  };
  new MutationObserver(follow).observe(place, { subtree: true, childList: true, attributeFilter: ["data-theme"] });

  if (isState(location.hash)) {
    heading.scrollIntoView();
    // A link to a head leads to its page once it is drawn, and stays there while what is above still finds its size.
    const bring = () => {
      if (isBelow()) place.querySelector(".at-beside").scrollIntoView({ behavior: "instant" });
    };
    const show = () => {
      if (!place.querySelector(".hp-card")) return;
      drawn.disconnect();
      bring();
      const settling = new ResizeObserver(bring);
      settling.observe(document.body);
      settling.observe(place.querySelector(".at-plot") ?? place);
      const leave = () => settling.disconnect();
      for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(act, leave, { once: true, passive: true });
      setTimeout(leave, 2000);
    };
    const drawn = new MutationObserver(show);
    if (new URLSearchParams(location.hash.slice(1)).has("heads")) drawn.observe(place, { subtree: true, childList: true });
  }
})();
