// The pictures that are computed in the page: <div class="slider" data-slider="NAME"></div>.
import { element } from "./dom.js";
import { inBoth, shown } from "./parts.js";
import { scalingSlider } from "./scaling.js";
import { sinusoidSlider } from "./sinusoid.js";
import { softmaxSlider } from "./softmax.js";

export const allSliders = {
  scaling: scalingSlider,
  sinusoid: sinusoidSlider,
  softmax: softmaxSlider,
};

function fill(box, name) {
  const slider = allSliders[name];
  const input = element("input", { type: "range", min: 0, max: slider.choices.length - 1, step: 1, value: slider.first });
  const output = element("output");
  const pictures = element("div", { class: "wide" });
  const beside = element("div", { class: "beside" });
  pictures.append(beside);
  const numbers = slider.rows.map((key) => element("dd", { "data-number": key }));
  const list = element("dl", {}, slider.rows.flatMap((key, i) => [element("dt", {}, inBoth(`${name}.${key}`)), numbers[i]]));
  const update = () => {
    const choice = slider.choices[Number(input.value)];
    const found = slider.run(choice);
    output.textContent = shown(choice);
    input.setAttribute("aria-valuetext", shown(choice));
    slider.rows.forEach((key, i) => {
      numbers[i].textContent = shown(found[key]);
    });
    beside.replaceChildren(...slider.draw(found, choice));
  };
  input.addEventListener("input", update);
  box.append(
    element("p", { class: "soft" }, inBoth(`${name}.what`)),
    element("label", {}, element("span", {}, inBoth(`${name}.name`)), input, output),
    pictures,
    list,
  );
  update();
}

export function fillSliders() {
  for (const box of document.querySelectorAll("[data-slider]")) {
    fill(box, box.getAttribute("data-slider"));
  }
}
