#!/usr/bin/env python3
"""stubs.py FOLDER: writes FOLDER/qkv/_qkv.pyi, what type checkers and editors read, from the module that is there.

The signatures are those that pybind11 writes, the texts those of the headers.
"""

import inspect
import re
import sys
from pathlib import Path

HEAD = '''# Made by apps/python/stubs.py from the compiled module.
from typing import *
import numpy
'''


def signatures(name, function):
    """The signatures of a function, and its text."""
    lines = (function.__doc__ or '').splitlines()
    pattern = re.compile(r'(?:\d+\. )?' + re.escape(name) + r'(\(.*\)(?: -> .*)?)$')
    found = [match[1] for match in map(pattern.match, lines) if match]
    found = [each for each in found if each != '(*args, **kwargs)']
    text = [line for line in lines if not pattern.match(line) and line != 'Overloaded function.']
    return found or ['(*args, **kwargs)'], '\n'.join(text).strip()


def typed(signature):
    """As Python's types are written."""
    signature = re.sub(r'<[^<>]*>', '...', signature)
    signature = re.sub(r'\bqkv\.(_qkv\.)?', '', signature)
    signature = re.sub(r'\b(handle|capsule|object)\b', 'object', signature)
    return re.sub(r'\bfunction\b', 'Callable', signature)


def documented(text, indent):
    return f'{indent}"""{text}"""\n' if text else ''


def function_stub(name, function, indent=''):
    found, text = signatures(name, function)
    text = text.replace('\\', '\\\\').replace('\n', '\n' + indent + '    ')
    result = ''
    for signature in found:
        result += f'{indent}@overload\n' if len(found) > 1 else ''
        result += f'{indent}def {name}{typed(signature)}:\n' + documented(text, indent + '    ') + f'{indent}    ...\n'
    return result


def class_stub(name, kind):
    bases = ', '.join(base.__name__ for base in kind.__bases__ if base.__module__ != 'pybind11_builtins')
    result = f'class {name}({bases}):\n'.replace('()', '') + documented((kind.__doc__ or '').replace('\n', '\n    '), '    ')
    for member, value in vars(kind).items():
        if isinstance(value, property):
            type_ = re.search(r'-> (.*)', value.fget.__doc__ or '')
            result += f'    @property\n    def {member}(self) -> {typed(type_[1]) if type_ else "Any"}: ...\n'
        elif callable(value) and not member.startswith(('__new', '__doc', '_pybind11')) and not inspect.isclass(value):
            result += function_stub(member, value, '    ')
    return result + '    ...\n\n'


def main(folder):
    sys.path.insert(0, folder)
    from qkv import _qkv
    text = HEAD
    for name, value in vars(_qkv).items():
        if name.startswith('__'):
            continue
        if name == value.__name__:
            text += class_stub(name, value) if inspect.isclass(value) else function_stub(name, value)
        else:
            text += f'{name} = {value.__name__}\n'
    (Path(folder) / 'qkv' / '_qkv.pyi').write_text(text)


if __name__ == '__main__':
    main(sys.argv[1])
