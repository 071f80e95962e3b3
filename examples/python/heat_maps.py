# %% [markdown]
# # Heat maps of a trained model
#
# A small decoder learns to write digits from the last to the first. Where it looks while it writes is in its attention
# weights. Training takes a few seconds.

# %%
import tempfile

import numpy as np

import qkv

config = {
    "name": "reverse",
    "data": {"task": "reverse", "alphabet": 10, "length": 5, "validation_examples": 100},
    "model": {"num_layers": 1, "d_model": 32, "num_heads": 2, "d_ff": 64},
    "optimizer": {"learning_rate": 5e-3, "warmup_steps": 20},
    "train": {"steps": 300, "batch_size": 32, "eval_interval": 100},
}
run = qkv.train(config, out=tempfile.mkdtemp() + "/reverse")
print("01234=" + run.generate("01234=", temperature=0))

# %% [markdown]
# The run's metrics are columns; where a line has no number there is NaN.

# %%
metrics = run.metrics
evaluated = ~np.isnan(metrics["val_loss"])
print(dict(zip(metrics["step"][evaluated].tolist(), metrics["val_loss"][evaluated].round(4).tolist())))

# %% [markdown]
# A trace has every number of one example. Each row of a map is a query, which sums to 1 over the keys.

# %%
trace = run.trace("01234=")
weights = trace["blocks.0.attention.weights"].numpy()[0]  # [head, query, key]
tokens = [run.decode([token]) for token in trace["tokens"].numpy()[0].tolist()]
qkv.heat_map(weights[0], "Head 0", rows=tokens, columns=tokens)

# %%
qkv.heat_map(weights[1], "Head 1", rows=tokens, columns=tokens)

# %% [markdown]
# The gradient of the loss by the scores says where more attention would have helped.

# %%
gradient = trace.gradient("blocks.0.attention.scores").numpy()[0]
qkv.heat_map(gradient[0], "Head 0: gradient by the scores", rows=tokens, columns=tokens)

# %% [markdown]
# And the whole page of `qkv explain`, in a frame.

# %%
trace
