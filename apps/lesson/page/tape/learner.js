// Steps of learning that take longer than a frame are made beside the page, in a worker with the page's own script.
import { Descent, gradientStep } from "./descent.js";
import { Program } from "./program.js";
import { Tape } from "./tape.js";
import { unpacked } from "../ops/numbers.js";

// In the worker: each message is answered with a step; the first has the tape to begin with.
export function serveSteps() {
  /** @type {Descent} */
  let descent;
  self.onmessage = ({ data: { program, values, rate } }) => {
    if (program) descent = new Descent(new Tape(null, { program: new Program(program), values }), gradientStep(rate));
    descent.tapeAt(descent.points.length);
    self.postMessage({ point: descent.points.at(-1), values: numbersOf(descent.last) });
  };
}

// As messages can have them.
/** @param {Tape} tape */
const numbersOf = ({ values }) => values.map(({ shape, data }) => ({ shape, data }));

// In the page: {step(), which waits until the descent has a step more, end()}.
/** @param {Descent} descent @param {number} rate */
export async function learnerBeside(descent, rate) {
  const script = await unpacked(document.getElementById("script").textContent);
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(address);
  const { facts, ops, order, loss } = descent.last.program;
  /** @type {any} */
  let message = { program: { facts, ops, order, loss }, values: numbersOf(descent.last), rate };
  /** @returns {Promise<void>} */
  const step = () =>
    new Promise((done, failed) => {
      worker.onerror = failed;
      worker.onmessage = ({ data }) => {
        descent.accept(data.point, data.values);
        done();
      };
      worker.postMessage(message);
      message = {};
    });
  const end = () => {
    worker.terminate();
    URL.revokeObjectURL(address);
  };
  return { step, end };
}
