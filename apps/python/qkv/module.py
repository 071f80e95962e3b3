"""Models of your own."""

from qkv import _qkv


class Module:
    """A model of your own: its parameters are those of its attributes, by their names; each once."""

    def parameters(self):
        found = {}
        for name, tensor in _parameters(vars(self).items()):
            found.setdefault(tensor.node, (name, tensor))
        return dict(found.values())


def _parameters(members):
    for name, value in members:
        if isinstance(value, _qkv.Tensor):
            if value.requires_grad and value.is_leaf:
                yield name, value
            continue
        if isinstance(value, (list, tuple)):
            inner = _parameters(enumerate(value))
        elif isinstance(value, dict):
            inner = _parameters(value.items())
        elif hasattr(value, 'parameters'):
            inner = value.parameters().items()
        else:
            continue
        yield from ((f'{name}.{key}', tensor) for key, tensor in inner)
