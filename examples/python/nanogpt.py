"""nanoGPT's loop: a decoder learns the text of a file, by default this one, character by character.

    ./qkv python examples/python/nanogpt.py README.md 1000
"""
import sys

import numpy as np

import qkv

text = open(sys.argv[1] if len(sys.argv) > 1 else __file__).read()
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 300
characters = sorted(set(text))
tokens = np.array([characters.index(c) for c in text])
batch_size, length = 16, 64

config = {'seed': 1, 'model': {'kind': 'decoder', 'num_layers': 2, 'd_model': 64, 'num_heads': 4, 'd_ff': 256}}
model = qkv.Model(config, vocabulary_size=len(characters), max_length=length)
optimizer = qkv.adamw(model.parameters(), learning_rate=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
random = np.random.default_rng(1)

for step in range(steps):
    starts = random.integers(0, len(tokens) - length, batch_size)
    windows = tokens[starts[:, None] + np.arange(length + 1)]
    loss = qkv.cross_entropy(model(windows[:, :-1], training=True), windows[:, 1:])
    rate = qkv.scheduled_learning_rate(step, steps, learning_rate=1e-3, warmup_steps=steps // 10)
    norm = optimizer.step(qkv.backward(loss), learning_rate=rate, grad_clip=1.0)
    if step % 50 == 0 or step == steps - 1:
        print(f'step {step}: loss {loss.item():.4f}, gradient norm {norm:.3f}')
