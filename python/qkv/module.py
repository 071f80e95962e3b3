"""Models: those of a config, and one's own."""

from qkv import _qkv


class Model(_qkv.Model):
    """The model of a config, a dict of its keys, with weights from its seed.

        model = qkv.Model({'seed': 1, 'model': {'kind': 'decoder', 'd_model': 64}}, vocabulary_size=65, max_length=32)
        logits = model(tokens)

    docs/file-formats.md has the keys. The data's sizes are those of DataShape.
    """

    def __init__(self, config, **data):
        super().__init__(config, _qkv.DataShape(**data))

    def __call__(self, *inputs, training=False, stream=_qkv.RandomStream(0)):
        return self.forward(list(inputs), training, stream)


class Module:
    """A model of one's own: its parameters are those of its attributes, by their names."""

    def parameters(self):
        return dict(_parameters(vars(self).items()))


def _parameters(members):
    for name, value in members:
        if isinstance(value, _qkv.Tensor):
            if value.requires_grad:
                yield name, value
        elif isinstance(value, (list, tuple)):
            yield from ((f'{name}.{key}', tensor) for key, tensor in _parameters(enumerate(value)))
        elif hasattr(value, 'parameters'):
            yield from ((f'{name}.{key}', tensor) for key, tensor in value.parameters().items())
