// Which value of the tape is what: found by the paths that the layers gave, and by the ops between.
import { backwardOf, gradientOfValue } from "../tape/layers.js";

export class Anatomy {
  constructor(tape) {
    this.tape = tape;
    this.program = tape.program;
    this.facts = tape.program.facts;
    this.byPath = new Map();
    this.byName = new Map();
    this.facts.forEach((fact, id) => {
      for (const path of fact.paths ?? []) if (!this.byPath.has(path)) this.byPath.set(path, id);
      if (fact.name && !this.byName.has(fact.name)) this.byName.set(fact.name, id);
    });
    this.named = tape.program.named.slice();
    this.gradientsOfUnnamed = new Map();
    this.symbols = new Map();
  }

  at(path) {
    return this.byPath.get(path) ?? this.byName.get(path);
  }

  shape(value) {
    return this.facts[value].shape;
  }

  // The op that made a value, or would have made it without an edit.
  op(value) {
    const op = this.program.makers[value];
    return op?.isEdit ? this.op(op.inputs[1]) : op;
  }

  // The op that made a value, through copies in one piece: reshape, permute.
  maker(value) {
    const op = this.op(value);
    if (!op || !["reshape", "permute"].includes(op.op)) return op ?? null;
    return this.maker(op.inputs[0]);
  }

  gradient(value) {
    return this.facts[value]?.gradient ?? this.gradientsOfUnnamed.get(value);
  }

  // A value that no layer named gets a name of the page's, and its gradient is looked for: what the
  // backward of its reader made, in the same shape.
  adopt(value) {
    this.named[value] = true;
    if (this.gradient(value) === undefined) {
      const found = this.gradientByReader(value);
      if (found === undefined) return value;
      this.gradientsOfUnnamed.set(value, found);
    }
    this.named[this.gradient(value)] = true;
    return value;
  }

  // A name for what is in no matrix of the page: formulas stop there, and open on demand.
  call(value, symbol) {
    this.named[value] = true;
    this.symbols.set(value, symbol);
  }

  gradientByReader(value) {
    const readers = this.program.readers[value].filter((op) => !op.backward);
    if (readers.length !== 1) return undefined;
    if (readers[0].op === "add") return this.gradient(readers[0].output); // a sum passes it on
    return gradientOfValue(this.program, value) ?? undefined;
  }

  // The ops that change queries or keys after their map, a norm and a rotation, in their order.
  changesOf(value) {
    const op = this.maker(value);
    const changes = op?.op === "rotary" || /\.(query|key)_norm$/.test(op?.scope ?? "");
    return changes ? [...this.changesOf(op.inputs[0]), op] : [];
  }

  // What the map gives, before it is changed.
  unchanged(value) {
    return this.changesOf(value)[0]?.inputs[0] ?? value;
  }

  // x, weight and bias of the linear layer that a value comes from.
  linearBehind(value) {
    const op = this.maker(this.unchanged(value));
    if (op?.op !== "linear") return null;
    const [x, weight, bias] = op.inputs;
    return { x, weight, bias, output: op.output };
  }

  // The same of heads that each map a part of x of their own: x_h W_h, side by side, and the bias.
  narrowLinearBehind(value) {
    const made = this.maker(this.unchanged(value));
    const [product, bias] = made?.op === "add" ? made.inputs.map((input) => this.maker(input)) : [made];
    const weight = product?.op === "matmul" ? product.inputs[1] : undefined;
    if (weight === undefined || this.facts[weight].kind !== "parameter") return null;
    const x = this.beforeCopies(product.inputs[0]);
    return { x, weight, bias: bias?.inputs[0], output: made.output };
  }

  // The value that a chain of reshape and permute began with, or the nearest that the model has a name for.
  beforeCopies(value) {
    const op = this.op(value);
    const isCopy = ["reshape", "permute"].includes(op?.op) && !this.facts[value].paths?.length;
    return isCopy ? this.beforeCopies(op.inputs[0]) : value;
  }

  // Everything of one attention layer: "blocks.0.attention", "decoder.blocks.1.cross_attention".
  layer(path) {
    const cut = path.lastIndexOf(".");
    const block = cut < 0 ? "" : path.slice(0, cut);
    const own = (name) => this.at(`${path}.${name}`);
    const near = (name) => this.at(block ? `${block}.${name}` : name);
    const isCross = path.endsWith("cross_attention");
    const name = path.slice(cut + 1);
    const found = {
      path,
      block,
      isCross,
      stack: block.includes("blocks.") ? block.slice(0, block.indexOf("blocks.")) : "",
      q: own("q"),
      k: own("k"),
      v: own("v"),
      scores: own("scores"),
      masked: own("masked_scores"),
      weights: own("weights"),
      heads: own("heads"),
      concatenated: own("concatenated"),
      output: this.at(path),
      norm: near(`${name}_norm`),
      mixed: near(isCross ? "cross_mixed" : "mixed"),
    };
    // The rest of the block comes after its last attention layer.
    if (isCross || near("cross_mixed") === undefined) {
      Object.assign(found, {
        feedForwardNorm: near("feed_forward_norm"),
        up: near("feed_forward.up"),
        hidden: near("feed_forward.hidden"),
        feedForward: near("feed_forward"),
        blockOutput: near("output"),
      });
    }
    found.input = isCross ? near("mixed") : near("input");
    found.isNormLast = this.isNormAfter(found.norm, found.output);
    found.isNormFirst = found.norm !== undefined && !found.isNormLast;
    found.read = found.isNormFirst ? found.norm : found.input; // what the projections read
    const apart = { ownK: this.unrepeated(found.k), ownV: this.unrepeated(found.v) };
    return { ...found, ...apart, ...this.scoresBehind(found.scores) };
  }

  // Whether it is the norm of x + layer(x), as in a block with norm = "post".
  isNormAfter(norm, output) {
    const op = norm === undefined ? null : this.maker(norm);
    const sum = /norm$/.test(op?.op ?? "") ? this.op(op.inputs[0]) : null;
    return sum?.op === "add" && sum.inputs.includes(output);
  }

  // x + layer(x)
  sumWithInput({ isNormLast, norm, mixed }) {
    return isNormLast ? this.maker(norm).inputs[0] : mixed;
  }

  // Keys or values [1, T, heads, D] before several heads of queries got the same.
  unrepeated(value) {
    const op = value === undefined ? null : this.maker(value);
    if (op?.op !== "broadcast_to") return value;
    let before = op.inputs[0];
    while (this.shape(before).length !== 4 && this.op(before)?.op === "reshape") {
      before = this.op(before).inputs[0];
    }
    return this.shape(before).length === 4 ? this.adopt(before) : value;
  }

  // raw → scaled → (+ position bias) → scores
  scoresBehind(scores) {
    let at = scores;
    let bias;
    if (this.op(at)?.op === "add") {
      const [first, second] = this.op(at).inputs;
      const isBias = (value) => !["scale", "matmul"].includes(this.maker(value)?.op);
      [at, bias] = isBias(first) ? [second, first] : [first, second];
    }
    const op = this.op(at);
    if (op?.op !== "scale") return { raw: this.adopt(at), scaled: at, positionBias: bias };
    return {
      raw: this.adopt(op.inputs[0]),
      scaled: at === scores ? at : this.adopt(at),
      scale: op.attributes.factor,
      positionBias: bias,
    };
  }

  // P ∘ dP, as the backward pass of the softmax that made `weights` has it.
  softmaxProduct(weights) {
    const forward = this.maker(weights);
    return forward?.op === "softmax" ? backwardOf(this.program, forward, "mul")[0]?.output : undefined;
  }

  // The forward op whose backward made a value.
  originOf(value) {
    return this.program.ops[this.maker(value)?.backward_of] ?? null;
  }
}
