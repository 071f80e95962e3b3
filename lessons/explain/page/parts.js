// A matrix of a step whose rows are a sequence.
export const sequencePart = (symbol, value, rowNames, family = "x") => ({
  symbol,
  value,
  look: "rows",
  family,
  rowNames,
});
