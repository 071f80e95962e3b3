// What a formula decides from numbers: where a relu is shut, which class is the target. No gradient
// comes this way.
import { Expression } from "./expression.js";

/** @param {boolean} yes */
const truth = (yes) => (yes ? 1 : 0);

/** @param {(x: number, attributes: Attributes) => number} f @returns {OpKind} */
function choice(f) {
  return {
    run: ({ inputs: [x], attributes }) => x.data.map((number) => f(number, attributes)),
    readers: () => [],
  };
}

// y[..., c] = 1 where c = index[...]
/** @type {OpKind} */
const oneHot = {
  run({ inputs: [index], shape }) {
    const classes = shape.at(-1);
    const y = new Float64Array(index.data.length * classes);
    index.data.forEach((c, row) => (y[row * classes + c] = 1));
    return y;
  },
  cell({ inputs: [index], shape }, at) {
    const classes = shape.at(-1);
    const target = index.data[Math.floor(at / classes)];
    return Expression.number(truth(target === at % classes), "one hot");
  },
  readers: () => [],
};

/** @type {{ [name: string]: OpKind }} */
export const choiceOps = {
  one_hot: oneHot,
  is_not_positive: choice((x) => truth(x <= 0)),
  class_of_target: choice((target, { ignored }) => (target === ignored ? 0 : target)),
};
