// The page of a lab: its language, its sliders, its formulas, and what is wider than it.
import { showFormulas } from "./formula.js";
import { keepLanguage } from "./language.js";
import { fillSliders } from "./sliders.js";
import { fillMaps } from "./where.js";

keepLanguage();
fillSliders();
fillMaps();
showFormulas();

// What is moved in its box can be moved by keys as well.
function markWide() {
  for (const box of document.querySelectorAll(".wide, .formula, pre")) {
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }
}
markWide();
addEventListener("resize", markWide);
document.addEventListener("toggle", markWide, true);
document.addEventListener("language", markWide);
