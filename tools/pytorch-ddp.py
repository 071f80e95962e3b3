#!/usr/bin/env python3
"""How long PyTorch takes for a step that two machines share (DistributedDataParallel, with gloo).

    tools/two-machines --rate 1gbit tools/pytorch-ddp.py --shape mini

The models, the optimizer and the clipping are those of tools/pytorch_step_time.py; each machine takes half of the batch.
It prints a JSON object with the fastest of the last two thirds of the steps, with both machines and with one alone that
takes the whole batch. Needs a python3 with PyTorch; Debian's computes with the BLAS in LD_LIBRARY_PATH.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import time

from pytorch_step_time import SHAPES, make_model, random_batch


def measure(shape, ranks, threads, steps):
    """Milliseconds of a step, of which every rank takes its share."""
    import torch
    from torch.nn import functional
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = make_model(shape, fused=hasattr(torch.nn.functional, "scaled_dot_product_attention"))
    run = DistributedDataParallel(model) if ranks > 1 else model
    shape = {**shape, "batch": shape["batch"] // ranks}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    times = []
    for _ in range(steps + steps // 2):
        inputs, targets = random_batch(shape)
        if ranks > 1:
            torch.distributed.barrier()
        start = time.perf_counter()
        loss = functional.cross_entropy(run(*inputs).flatten(0, -2), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times[-steps:]), sum(p.numel() for p in model.parameters())


def be_rank(arguments):
    import torch

    torch.distributed.init_process_group("gloo", rank=arguments.rank, world_size=2)
    result = measure(SHAPES[arguments.shape], 2, arguments.threads, arguments.steps)
    torch.distributed.barrier()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="mini")
    parser.add_argument("--threads", type=int, default=1, help="of each machine")
    parser.add_argument("--steps", type=int, default=8, help="how many to measure")
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for library in "OMP", "OPENBLAS", "BLIS":  # before PyTorch is loaded
        os.environ[f"{library}_NUM_THREADS"] = str(arguments.threads)
    os.environ.update(OMP_WAIT_POLICY="passive")
    os.environ.update(MASTER_ADDR="machine1", MASTER_PORT="29500", GLOO_SOCKET_IFNAME="link0")
    if arguments.rank == 1:
        be_rank(arguments)
        return
    alone, _ = measure(SHAPES[arguments.shape], 1, arguments.threads, arguments.steps)
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--rank", "1"]
    other = subprocess.Popen(["on-machine", "machine2", shlex.join(command)])
    both, parameters = be_rank(arguments)
    if other.wait() != 0:
        sys.exit("error: the second machine failed")
    import torch

    described = {"shape": arguments.shape, "parameters": parameters, "torch": torch.__version__}
    print(json.dumps({**described, "ms_alone": round(alone, 1), "ms_together": round(both, 1)}))


if __name__ == "__main__":
    main()
