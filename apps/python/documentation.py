#!/usr/bin/env python3
"""documentation.py ROOT OUTPUT: writes OUTPUT, the C++ source of qkv::python::documentation(name) and bind_plain_ops(m).

It reads the headers that are the contracts of what Python has. A name has the comment above its declaration, with
those declarations that share the comment; the comment that ends its own lines; and what its struct of options says of
itself and of its fields, which are arguments in Python. Those functions of ops.h that binding/ops.cc does not bind are
bound as they are declared.
"""

import re
import sys
from pathlib import Path

HEADERS = """
    framework/ops/ops.h framework/graph/tensor.h framework/graph/op.h framework/autograd/backward.h
    framework/core/random.h framework/gradcheck/gradcheck.h framework/gradcheck/gradcheck_report.h
    framework/optim/optimizer.h framework/optim/optimizer_options.h framework/ops/support/bf16.h
    framework/graph/node.h framework/graph/saved.h framework/graph/recorder.h framework/nn/module.h
    framework/nn/initializer.h framework/nn/layers.h
    framework/nn/mixers/attention.h models/model.h
""".split()

NAME = re.compile(r'(?:^|[\s&*])(?:(?:class|struct)\s+(?P<type>\w+)|(?P<function>\w+)\()')
FIELD = re.compile(r'\s*[\w:<>]+ (?P<name>\w+)(?:[ {][^;]*)?;\s*(?://\s*(?P<remark>.*))?$')
OPTIONS = 'MatmulOptions LinearOptions AttentionMask AttentionOptions ScanOptions CrossEntropyOptions BackwardOptions'.split()


def comment_of(line):
    """The text of a line that is a comment, or None."""
    match = re.fullmatch(r'\s*// ?(.*)', line)
    return match and match[1]


def declarations(text):
    """Each (name, code, comment above, comment beside, body) of a header, at the outermost level."""
    above, statement, beside, body = [], '', [], []
    depth = 0
    begins = True  # whether the next comment begins another one
    for line in text.splitlines():
        if depth == 0 and not statement and comment_of(line) is not None:
            above = [comment_of(line)] if begins else above + [comment_of(line)]
            begins = False
            continue
        if not line.strip() and not statement:
            above, begins = [], True
        if not line.strip() or line.startswith(('#', 'namespace', '}  // namespace', 'using', 'inline Tensor operator')):
            continue
        begins = True
        code, _, remark = line.partition('//')
        if depth == 0:
            statement += code
            beside += [remark.strip()] if remark else []
        else:
            body.append(line)
        depth = max(0, depth + code.count('{') - code.count('}'))
        if depth == 0 and re.search(r'[;}]\s*$', code):
            match = NAME.search(' ' + statement)
            if match and not re.match(r'\s*class \w+;', statement):
                yield match['type'] or match['function'], statement, above, ' '.join(beside), body
            statement, beside, body = '', [], []


def fields_of(body):
    """The fields of a struct of options, as arguments: "causal: no key after p"."""
    result, above = [], []
    for line in body:
        if comment_of(line) is not None:
            above.append(comment_of(line))
        elif match := FIELD.match(line):
            remark = ' '.join(above + ([match['remark']] if match['remark'] else []))
            result += [f'{match["name"]}: {remark}'] if remark else []
            above = []
    return '\n'.join(result)


def read(root):
    found = [each for header in HEADERS for each in declarations((root / header).read_text())]
    options = {name: (code, above, body) for name, code, above, _, body in found if name in OPTIONS}
    texts = {}
    for name, code, above, beside, _ in found:
        used = [o for o in OPTIONS if f'const {o}&' in code and name not in OPTIONS]
        used += ['AttentionMask'] if 'AttentionOptions' in used else []
        paragraphs = texts.setdefault(name, [])
        for paragraph in ('\n'.join(above), beside, *('\n'.join(options[o][1]) for o in used),
                          *(fields_of(options[o][2]) for o in used)):
            if paragraph and paragraph not in paragraphs:
                paragraphs.append(paragraph)
    return {name: '\n\n'.join(paragraphs) for name, paragraphs in texts.items()}


def plain_ops(root):
    """The statements of bind_plain_ops."""
    by_hand = re.findall(r'm, "(\w+)"', (root / 'apps/python/binding/ops.cc').read_text())
    for name, code, *_ in declarations((root / 'framework/ops/ops.h').read_text()):
        function = re.fullmatch(r'(.+) \w+\((.*)\);\s*', code)
        if not function or name in by_hand:
            continue
        arguments = [re.fullmatch(r'\s*(.*?) ?(\w+)( = .*)?', argument) for argument in function[2].split(',')]
        types = ', '.join(type_ for type_, _, _ in map(re.Match.groups, arguments))
        names = ', '.join(f'"{argument[2]}"_a{argument[3] or ""}' for argument in arguments)
        yield f'  def(m, "{name}", static_cast<{function[1]} (*)({types})>({name}), {names});\n'


def write(texts, ops):
    rows = ''.join(f'    {{"{name}", R"qkv({text})qkv"}},\n' for name, text in sorted(texts.items()))
    return f"""#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "apps/python/binding/binding.h"
#include "framework/ops/ops.h"

namespace qkv::python {{

void bind_plain_ops(py::module_& m) {{
{''.join(ops)}}}

const char* documentation(const char* name) {{
  static const std::map<std::string_view, const char*> texts = {{
{rows}  }};
  const auto found = texts.find(name);
  if (found == texts.end()) throw std::logic_error(std::string("no header has ") + name);
  return found->second;
}}

}}  // namespace qkv::python
"""


if __name__ == '__main__':
    root, output = map(Path, sys.argv[1:])
    output.write_text(write(read(root), plain_ops(root)))
