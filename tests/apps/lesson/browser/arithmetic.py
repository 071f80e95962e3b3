"""The arithmetic that the page shows of a cell, as a text with all digits: read, and computed."""

import ast
import math
import operator
import sys

sys.setrecursionlimit(20000)  # a sum of many terms is a deep tree

BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.Pow: operator.pow}
FUNCTIONS = {
    "exp": math.exp, "log": math.log, "tanh": math.tanh, "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos,
    "erf": math.erf,
    "max": lambda *numbers: max(numbers),
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "silu": lambda x: x / (1.0 + math.exp(-x)),
    "normalDistribution": lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)),
}


def computed(text: str) -> float:
    return _value(ast.parse(text.strip(), mode="eval").body)


def number(text: str) -> float:
    """As the page writes one: with − and ∞."""
    return float(text.replace("−", "-").replace("∞", "inf"))


def _value(node) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in ("Infinity", "NaN"):
        return math.inf if node.id == "Infinity" else math.nan
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp):
        return BINARY[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.Call):
        return FUNCTIONS[node.func.id](*map(_value, node.args))
    raise ValueError(f"no arithmetic: {ast.dump(node)[:80]}")
