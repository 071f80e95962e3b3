// What a backward formula decides from numbers of the forward pass: where a relu is shut, which
// element is the largest, which class is the target. The engine has these as constants. Here they
// are ops of their own, so that they change with the numbers that they come from.
import { Expression } from "./expression.js";

const truth = (yes) => (yes ? 1 : 0);

function choice(f) {
  return {
    run: ({ inputs: [x], attributes }) => x.data.map((number) => f(number, attributes)),
    readers: () => [], // no gradient comes this way
  };
}

// y[..., c] = 1 where c = index[...]
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

export const choiceOps = {
  one_hot: oneHot,
  is_not_positive: choice((x) => truth(x <= 0)),
  class_of_target: choice((target, { ignored }) => (target === ignored ? 0 : target)),
};

// By the forward and the backward op: what of the latter follows the numbers of the former. Either
// a value of forward, or an op on such.
const followers = {
  "masked_fill masked_fill": ({ attributes }) => ({ mask: attributes.mask.value }),
  "embedding embedding_backward": ({ attributes }) => ({ index: attributes.index.value }),
  "relu masked_fill": ({ output }) => ({ mask: { op: "is_not_positive", inputs: [output] } }),
  "max scatter_add": ({ inputs, attributes }) => ({
    index: { op: "index_of_max", inputs, attributes },
  }),
  "cross_entropy one_hot": ({ attributes }) => ({
    input: { op: "class_of_target", inputs: [attributes.targets.value], attributes },
  }),
};

// The ops, where backward ones read what follows from forward in the place of the constants that
// were recorded. addOp(op, shape) puts an op on the tape and gives the id of its output.
export function withChoicesFollowed(ops, { isConstant, shapeOf, addOp }) {
  return ops.map((op) => {
    const forward = ops[op.backward_of];
    const follower = forward && followers[`${forward.op} ${op.op}`];
    if (!follower) return op;
    const [[name, source]] = Object.entries(follower(forward));
    const recorded = name === "input" ? op.inputs[0] : op.attributes[name].value;
    if (!isConstant(recorded)) return op;
    const value = typeof source === "number" ? source : addOp(source, shapeOf(recorded), op);
    if (name === "input") return { ...op, inputs: [value] };
    return { ...op, attributes: { ...op.attributes, [name]: { value } } };
  });
}
