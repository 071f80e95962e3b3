// The address of the page. In the frame of a notebook (iframe srcdoc) it has none: nothing can be written there, and a
// link would lead to the notebook.
const hasAddress = location.protocol !== "about:";

export function setAddress(address, { replace }) {
  if (!hasAddress) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}

export function onAddress(root, visit) {
  window.addEventListener("hashchange", () => visit(location.hash));
  root.addEventListener("click", (event) => {
    const link = hasAddress ? null : event.target.closest("a[href^='#']");
    if (!link || event.defaultPrevented) return;
    event.preventDefault();
    visit(link.getAttribute("href"));
  });
}
