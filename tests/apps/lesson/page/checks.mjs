// What must hold of every document. Each check throws where it does not.
import { finiteDifference, lossAlong } from "../../../../apps/lesson/page/tape/differences.js";
import { Expression } from "../../../../apps/lesson/page/ops/expression.js";
import { elementsOf } from "./small_document.mjs";

function require(isTrue, message) {
  if (!isTrue) throw new Error(message());
}

// At most so many elements of a tensor, spread over it; the first and the last are among them.
function someOf(shape, most) {
  const all = elementsOf(shape);
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => Math.round((i * (all.length - 1)) / (most - 1)));
}

const largestOf = (data) =>
  data.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);

// The formula of a cell, with the numbers of its cells put in, gives its number.
export function formulasGiveTheNumbers(tape, most) {
  tape.facts.forEach(({ shape }, value) => {
    const { data } = tape.values[value];
    const unit = largestOf(data) || 1;
    for (const index of someOf(shape, most)) {
      const formula = tape.expression(value, index);
      const number = Expression.evaluate(formula, (id, at) => tape.number(id, at));
      const isSame =
        Object.is(number, data[index]) || Math.abs(number - data[index]) <= 1e-12 * unit;
      require(isSame || number === data[index], () => `${tape.name(value)}[${index}]: ${number}`);
    }
  });
}

// A cell of which a formula is made feeds the cell that it is the formula of.
export function usesMatchFormulas(tape, most) {
  tape.facts.forEach(({ shape }, value) => {
    if (!tape.isNamed(value) || !tape.program.makers[value]) return;
    for (const index of someOf(shape, most)) {
      const cells = Expression.cellsOf(tape.expression(value, index));
      const named = cells.filter((cell) => tape.isNamed(cell.value) && cell.value !== value);
      for (const cell of named.slice(0, most)) {
        const isThere = tape
          .uses(cell.value, cell.index)
          .some((use) => use.value === value && use.index === index);
        require(isThere, () =>
          `${tape.name(cell.value)}[${cell.index}] does not feed ${tape.name(value)}[${index}]`);
      }
    }
  });
}

// Gradients equal differences of the loss.
export function gradientsEqualDifferences(tape, most) {
  tape.facts.forEach(({ shape, kind }, value) => {
    const gradient = tape.gradient(value);
    if (!gradient || kind === "constant" || tape.program.makers[value]?.backward) return;
    for (const index of someOf(shape, most)) {
      if (!Number.isFinite(tape.number(value, index))) continue;
      const numeric = finiteDifference(tape, value, index);
      const analytic = gradient.data[index];
      const allowed = 1e-10 + 1e-6 * Math.abs(analytic) + 3 * numeric.error;
      require(Math.abs(numeric.value - analytic) <= allowed, () =>
        `d ${tape.name(value)}[${index}] is ${analytic}, and by differences ${numeric.value}`);
    }
  });
}

// The loss after a change of one number, from the rows that change, is that of an edited tape.
export function tailEqualsReplay(tape, most) {
  tape.facts.forEach(({ shape, kind, paths }, value) => {
    if (tape.program.makers[value]?.backward || (kind === "computed" && !paths)) return;
    for (const index of someOf(shape, most)) {
      const number = tape.number(value, index) + 0.125;
      if (!Number.isFinite(number) || kind === "constant") continue;
      const replayed = tape.edited([{ value, index, number }]).loss();
      const loss = lossAlong(tape, value, index)(number);
      require(Math.abs(loss - replayed) <= 1e-13 * Math.max(1, Math.abs(replayed)), () =>
        `${tape.name(value)}[${index}]: the loss is ${loss}, and by replay ${replayed}`);
    }
  });
}
