// Symbols of matrices, as formulas write them, in texts and addresses.

// How a symbol is called in a line of text: W_q^T is read as it is.
export function symbolText(symbol) {
  const text = symbol.replace(/[{}]/g, "").replace("^T", "ᵀ");
  return text.includes("-") ? `(${text.replace("-", " − ")})` : text;
}

// What stands for a matrix in addresses: letters, digits and ∘ only.
export function keyOf(symbol) {
  return symbol.replace(/[{}]/g, "").replace("^T", "t").replace("-", "−");
}
