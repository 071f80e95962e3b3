#!/usr/bin/env python3
"""Trains on a text of a megabyte and on one of SIZE gigabytes, made of the same text over and over, and
prints how long each takes to begin and how much memory it needs.

    tools/large-text.py [SIZE] [TEXT]        by default 4 and the text of the GPL

The large text is read twice: the second start finds its tokens in the cache. Text and cache are in a
temporary folder ($TMPDIR), which needs twice SIZE and is removed at the end. Fails where the large text
takes more than 200 MB more than the small one, or where its second start takes longer than 20 s."""

import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QKV = os.environ.get("QKV", os.path.join(ROOT, "build/release/qkv"))
CONFIG = """name = "large"
[data]
task = "text"
validation_path = "validation.txt"
length = 128
[model]
num_layers = 1
d_model = 32
num_heads = 2
d_ff = 64
[train]
steps = 200
batch_size = 64
eval_interval = 1000
max_minutes = 0.25
"""
MEGABYTE = 1000 * 1000


def write_text(path, source, size):
    with open(source, "rb") as file:
        text = file.read()
    block = text * (MEGABYTE // len(text) + 1)
    with open(path, "wb") as file:
        while size > 0:
            file.write(block[:size])
            size -= len(block)


def memory_of(process):
    """Peak of the resident memory, and the part of it now that is no file, in bytes."""
    values = {}
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            for line in status:
                name, _, value = line.partition(":")
                values[name] = value
    except ProcessLookupError:
        pass
    return [int(values[name].split()[0]) * 1024 if name in values else 0 for name in ("VmHWM", "RssAnon")]


def train(folder, text):
    """Seconds until the first step, peak of the memory, and of its part that is no file."""
    started = time.monotonic()
    process = subprocess.Popen(
        [QKV, "train", "large.toml", "--set", f"data.path={text}", "--out", f"run-{time.monotonic_ns()}"],
        cwd=folder, stdout=subprocess.PIPE,
        env={**os.environ, "XDG_CACHE_HOME": os.path.join(folder, "cache")})
    os.set_blocking(process.stdout.fileno(), False)
    begun, peak, anonymous, output = None, 0, 0, b""
    while process.poll() is None:
        now = memory_of(process)
        peak, anonymous = max(peak, now[0]), max(anonymous, now[1])
        output += process.stdout.read() or b""
        if begun is None and b"parameters" in output:
            begun = time.monotonic() - started
        time.sleep(0.02)
    if process.returncode != 0 or begun is None:
        sys.exit(f"the training ended with status {process.returncode}\n{output.decode()}")
    return begun, peak, anonymous


def main():
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else "4") * 1000 * MEGABYTE)
    source = sys.argv[2] if len(sys.argv) > 2 else "/usr/share/common-licenses/GPL-3"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "large.toml"), "w", encoding="ascii") as file:
            file.write(CONFIG)
        write_text(os.path.join(folder, "validation.txt"), source, MEGABYTE // 10)
        write_text(os.path.join(folder, "small.txt"), source, MEGABYTE)
        write_text(os.path.join(folder, "large.txt"), source, size)
        print("text          start    begins after   peak memory   anonymous")
        results = []
        for text, start in (("small.txt", "first"), ("large.txt", "first"), ("large.txt", "second")):
            begun, peak, anonymous = train(folder, text)
            results.append((begun, peak))
            length = os.path.getsize(os.path.join(folder, text))
            print(f"{length / MEGABYTE:7.0f} MB    {start:6}  {begun:10.1f} s {peak / MEGABYTE:11.1f} MB "
                  f"{anonymous / MEGABYTE:8.1f} MB", flush=True)
    more = max(peak for _, peak in results[1:]) - results[0][1]
    print(f"the large text takes {more / MEGABYTE:.1f} MB more")
    if more > 200 * MEGABYTE or results[2][0] > 20:
        sys.exit("more than 200 MB, or more than 20 s at the second start")


if __name__ == "__main__":
    main()
