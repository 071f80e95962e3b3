// What the modules of the page hand to each other: names for the types in their comments, which tsc
// checks (tools/check/lint). It is no part of the page.

type Tape = import("./tape/tape.js").Tape;
type Program = import("./tape/program.js").Program;
type Draft = import("./tape/draft.js").Draft;

// Numbers of a document in base64: {"f64": "…"}.
type PackedNumbers = { [type: string]: string };

type Shape = number[];
type Numbers = Float64Array;
type NumberList = Numbers | Int32Array | Uint8Array | number[];

interface Tensor {
  shape: Shape;
  data: Numbers;
}

// A tensor that is a value of the tape.
interface Operand extends Tensor {
  value: number;
}

// A number, a flag, a list of axes; an array is {value} on the tape, and an Operand in a node.
type Attributes = { [name: string]: any };

// An op with its numbers.
interface OpNode {
  inputs: Operand[];
  attributes: Attributes;
  shape: Shape;
  output?: number;
}

// One kind of op.
interface OpKind {
  run(node: OpNode): Numbers;
  // How an element of the output is made; without it, the op decides and computes nothing.
  cell?(node: OpNode, index: number): Formula;
  // The elements of the output that read an element of an input.
  readers(node: OpNode, input: number, index: number): number[];
  opens?: boolean; // a formula goes on through it to what made its cells
  moves?: boolean; // its cells are copies
  adds?: boolean; // its cells are sums
  multiplies?: boolean; // its cells are sums of products
}

interface Cell {
  value: number;
  index: number;
}

// See ops/expression.js.
interface Formula {
  kind: string;
  value?: number;
  index?: number;
  number?: number;
  of?: Formula[];
  what?: string;
}

type NumberAt = (value: number, index: number) => number;

// What is known of a value but its numbers.
interface Fact {
  shape: Shape;
  kind?: string; // parameter, constant or computed
  name?: string;
  paths?: string[];
  gradient?: number | null;
  dtype?: string;
}

// An op as it was recorded.
interface RecordedOp {
  op: string;
  inputs: number[];
  output: number;
  attributes?: Attributes;
  scope?: string;
  backward?: boolean;
  backward_of?: number | null;
  isEdit?: boolean;
  kept?: string[];
}

interface Op extends RecordedOp {
  id: number;
  reads: number[];
  attributes: Attributes;
}

interface LessonDocument {
  values: (Fact & { numbers?: PackedNumbers })[];
  ops: RecordedOp[];
  forward_ops: number;
  loss: number;
  meta: any;
  history?: any[];
  whole_loss?: number;
  untrained?: string[];
}

// The ops of an attention layer, found by what they are.
interface AttentionOps {
  scope: string;
  isSelf: boolean;
  inEncoder: boolean;
  softmax?: Op;
  scores?: number;
  product?: Op;
  mask?: Op;
  bias?: Op;
  scale?: Op;
}

interface Settings {
  causal?: boolean;
  window?: number;
  scale?: boolean;
  bias?: boolean;
  residual?: boolean;
}

interface Edit {
  value: number;
  index: number;
  number: number;
}

// How formulas are made and read.
interface Formulas {
  cell(value: number, index: number): Formula;
  number(number: number, what?: string): Formula;
  sum(of: Formula[], what?: string): Formula;
  product(of: Formula[], what?: string): Formula;
  maximum(of: Formula[], what?: string): Formula;
  difference(a: Formula, b: Formula, what?: string): Formula;
  quotient(a: Formula, b: Formula, what?: string): Formula;
  power(a: Formula, b: Formula, what?: string): Formula;
  negated(a: Formula): Formula;
  apply(name: string, a: Formula, what?: string): Formula;
  evaluate(formula: Formula, numberAt: NumberAt): number;
  withCells(formula: Formula, replacement: (cell: Formula) => Formula): Formula;
  cellsOf(formula: Formula): Formula[];
}

// A: [m, k], B: [k, n], or transposed.
interface ProductSizes {
  m: number;
  k: number;
  n: number;
  transposeA: boolean;
  transposeB: boolean;
}

// A recurrence: the step on numbers, and the formula of an element i of the new state.
interface Scan {
  step(a: Numbers, before: Numbers, hidden: number, after: Numbers): void;
  formula(
    a: (gate: number) => Formula,
    before: (i: number) => Formula,
    hidden: number,
    i: number,
  ): Formula;
}

// A mistake in a backward pass: where it can be planted in a program, or null; and how.
interface Mistake {
  id: string;
  place(program: Program, scope: string): any;
  change(draft: Draft, place: any): void;
}

// Where a step of learning leads.
interface Move {
  parameters: Map<string, Tensor>;
  fall: number;
}
