// Where the keyboard is, kept while the page is drawn anew.

const focusable = "a[href], button, select, input, summary, [tabindex]";

const labelOf = (element) =>
  element.closest("[data-matrix]")?.dataset.matrix ??
  element.getAttribute("aria-label") ??
  element.textContent;

let isGivingFocus = false;

// The focus of who moves by keys chooses a cell; that which the page gives back does not.
export const isFocusOfReader = () => !isGivingFocus;

function giveFocus(to) {
  isGivingFocus = true;
  to?.focus({ preventScroll: true });
  isGivingFocus = false;
}

// Call it before; what it returns, afterwards.
export function keptFocus(zones) {
  const had = document.activeElement;
  const zone = Object.values(zones).find((each) => each !== had && each.contains(had));
  if (!zone) return () => {};
  const at = [...zone.querySelectorAll(focusable)].indexOf(had);
  const label = labelOf(had);
  return () => {
    if (document.activeElement === had) return;
    const all = [...zone.querySelectorAll(focusable)];
    const isSame = (each) => each.tagName === had.tagName && labelOf(each) === label;
    giveFocus(had.isConnected ? had : all.find(isSame) ?? all[at]); // what was only moved has lost it, too
  };
}
