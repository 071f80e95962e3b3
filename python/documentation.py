#!/usr/bin/env python3
"""documentation.py ROOT OUTPUT: writes OUTPUT, the C++ source of qkv::python::documentation(name).

It reads the headers that are the contracts of what Python has. A name has the comment above its declaration, with
those declarations that share the comment; the comment that ends its own lines; and, of an options struct of the same
name, the fields.
"""

import re
import sys
from pathlib import Path

HEADERS = """
    framework/ops/ops.h framework/graph/tensor.h framework/graph/op.h framework/autograd/backward.h
    framework/core/random.h framework/gradcheck/gradcheck.h framework/gradcheck/gradcheck_report.h
    framework/optim/optimizer.h framework/optim/options.h framework/optim/schedule.h framework/ops/bf16.h
    framework/graph/node.h framework/nn/module.h framework/nn/linear.h framework/nn/embedding.h framework/nn/norm.h
    framework/nn/attention.h framework/nn/feed_forward.h framework/nn/data_shape.h models/model.h
""".split()

NAME = re.compile(r'(?:^|[\s&*])(?:(?:class|struct)\s+(?P<type>\w+)|(?P<function>\w+)\()')


def comment_of(line):
    """The text of a line that is a comment, or None."""
    match = re.fullmatch(r'\s*// ?(.*)', line)
    return match and match[1]


def declarations(text):
    """Each (name, text) of a header, at the outermost level."""
    above, statement, beside, fields = [], '', [], []
    depth = 0
    fresh = True  # whether the next comment begins another one
    for line in text.splitlines():
        if depth == 0 and not statement and comment_of(line) is not None:
            if fresh:
                above, fresh = [], False
            above.append(comment_of(line))
            continue
        if not line.strip() or line.startswith(('#', 'namespace', '}  // namespace', 'using', 'inline Tensor operator')):
            if not line.strip():
                above = above if statement else []
                fresh = True
            continue
        code, _, remark = line.partition('//')
        fresh = True
        if depth == 0:
            if remark:
                beside.append(remark.strip())
        else:
            fields.append(line.strip())
        statement += code if depth == 0 else ''
        depth += code.count('{') - code.count('}')
        if depth == 0 and re.search(r'[;}]\s*$', code):
            match = NAME.search(' ' + statement)
            if match and not re.match(r'\s*class \w+;', statement):
                name = match['type'] or match['function']
                body = [field for field in fields if field not in ('};', 'public:', 'private:')]
                yield name, above, beside, body
            statement, beside, fields = '', [], []


def read(root):
    texts = {}
    for header in HEADERS:
        for name, above, beside, _ in declarations((root / header).read_text()):
            paragraphs = texts.setdefault(name, [])
            for paragraph in ('\n'.join(above), ' '.join(beside)):
                if paragraph and paragraph not in paragraphs:
                    paragraphs.append(paragraph)
    return {name: '\n\n'.join(paragraphs) for name, paragraphs in texts.items()}


def write(texts):
    rows = ''.join(f'    {{"{name}", R"qkv({text})qkv"}},\n' for name, text in sorted(texts.items()))
    return f"""#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "python/binding/binding.h"

namespace qkv::python {{

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
    output.write_text(write(read(root)))
