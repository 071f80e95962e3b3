// Names for what the backward pass of a layer norm computes on its way: 1/√(σ² + ε), x̂ and the two means.

// norm: the forward op; the gradient of its output is known by `gradient`.
export function nameNormParts(anatomy, norm, gradient) {
  const { program } = anatomy;
  const own = program.ops.filter((op) => op.backward_of === norm.id);
  const isFrom = (value, name) => anatomy.maker(value)?.op === name;
  const source = (value) => {
    const op = anatomy.op(value);
    return op && ["reshape", "broadcast_to"].includes(op.op) ? source(op.inputs[0]) : op;
  };
  for (const op of own) {
    if (op.op === "rsqrt") anatomy.call(op.output, "1/√(σ²+ε)");
    if (op.op === "mul") {
      const [a, b] = op.inputs.map(source);
      if (isFrom(op.inputs[0], "sub") && b?.op === "rsqrt" && a.inputs[0] === norm.inputs[0]) {
        anatomy.call(op.output, "x̂");
      }
    }
    if (op.op === "scale") {
      const sum = source(op.inputs[0]);
      const name = sum?.op === "sum" ? nameOfMean(anatomy, sum.inputs[0], norm, gradient) : null;
      if (name) anatomy.call(op.output, name);
    }
  }
}

function nameOfMean(anatomy, summed, norm, gradient) {
  if (summed === norm.inputs[0]) return "μ";
  const op = anatomy.op(summed);
  if (op?.op !== "mul") return null;
  if (op.inputs[0] === op.inputs[1]) return "σ²";
  return op.inputs.includes(gradient) ? "mean(g∘d)" : "mean(x̂∘g∘d)";
}
