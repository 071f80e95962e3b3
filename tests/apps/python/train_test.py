"""Training from Python: its bits, its callbacks, and how it ends."""

import contextlib
import copy
import io
import threading
import time
import unittest
import warnings
from pathlib import Path

import numpy as np

import qkv
from runs import CONFIG, Folder, error_of, interrupted, qkv_program


def train(config=CONFIG, **options):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run = qkv.train(config, **options)
    return run, printed.getvalue()


class Listener:
    def __init__(self):
        self.heard = []

    def before_step(self):
        self.heard.append("before")

    def after_step(self):
        self.heard.append("after")

    def report(self, step):
        self.heard.append(step)


class TrainTest(unittest.TestCase):
    def test_the_weights_are_those_of_qkv_train_bit_for_bit(self):
        with Folder() as folder:
            run, printed = train(out=folder / "python")
            result = qkv_program("train", folder / "python/config.toml", "--out", folder / "cli")
            self.assertEqual(result.returncode, 0, result.stderr)
            other = qkv.load(folder / "cli").parameters
            for name, tensor in run.parameters.items():
                np.testing.assert_array_equal(tensor.numpy(), other[name].numpy())
            self.assertIn("step 20/20", printed)
            self.assertEqual(Path(run.path).parent.parent, folder / "python")

    def test_a_listener_hears_every_step_in_the_thread_of_the_call(self):
        listener, threads = Listener(), set()
        with Folder() as folder:
            train(out=folder / "a", listener=listener)
            train(out=folder / "b", listener=lambda step: threads.add(threading.get_ident()))
        self.assertEqual(len(listener.heard), 60)
        before, after, step = listener.heard[27:30]
        self.assertEqual((before, after, step.step), ("before", "after", 10))
        self.assertTrue(step.evaluated and step.logged and step.samples)
        self.assertEqual(step.metrics["step"], 10)
        self.assertGreater(step.metrics["val_loss"], 0)
        self.assertNotIn("val_loss", listener.heard[2].metrics)
        self.assertEqual(threads, {threading.get_ident()})

    def test_a_listener_is_called_at_once(self):
        longer = dict(CONFIG, train=dict(CONFIG["train"], steps=300))
        with Folder() as folder:
            begin = time.monotonic()
            train(longer, out=folder / "a", listener=Listener())
            self.assertLess(time.monotonic() - begin, 20, "900 calls, which wait for no clock")

    def test_a_callback_may_use_the_engine(self):
        sums = []
        with Folder() as folder:
            train(out=folder / "a", listener=lambda step: sums.append(qkv.sum(qkv.tensor(np.ones((8, 8)))).item()))
        self.assertEqual(sums, [64.0] * 20)

    def test_an_exception_in_a_callback_ends_the_run_which_can_be_resumed(self):
        def refuse(step):
            if step.step == 7:
                raise RuntimeError("seven")

        with Folder() as folder:
            with self.assertRaisesRegex(RuntimeError, "^seven$"):
                train(out=folder / "a", listener=refuse)
            resumed, printed = train(out=folder / "a", resume=True)
            self.assertIn("continuing after step 7", printed)
            whole, _ = train(out=folder / "b")
            for name, tensor in resumed.parameters.items():
                np.testing.assert_array_equal(tensor.numpy(), whole.parameters[name].numpy())

    def test_ctrl_c_saves_and_is_a_keyboard_interrupt(self):
        call = ("qkv.train(dict(runs.CONFIG, train=dict(runs.CONFIG['train'], steps=1000000)), out=sys.argv[1], "
                "listener=lambda s: s.step == 3 and print('go', flush=True))")
        with Folder() as folder:
            rest = interrupted(call, folder / "a")
            self.assertRegex(rest, r"(?s)stopped after step \d+ of 1000000; saved\. .*\ninterrupted\n$")
            self.assertTrue((folder / "a/checkpoints/last.safetensors").exists())

    def test_mistakes_in_a_dict_have_the_sentences_of_a_file(self):
        config = copy.deepcopy(CONFIG)
        config["model"]["num_head"] = 2
        config["train"]["steps"] = "many"
        with Folder() as folder:
            (folder / "bad.toml").write_text("model.num_head = 2\ntrain.steps = \"many\"\n")
            expected = [line.split(": ", 1)[1] for line in error_of("train", folder / "bad.toml").splitlines()]
            with self.assertRaises(qkv.Error) as raised:
                train(config, out=folder / "a")
            self.assertEqual(sorted(str(raised.exception).splitlines()), sorted(f"config: {line}" for line in expected))
            self.assertFalse((folder / "a").exists())
            flat = {"data.task": "reverse", "train.steps": np.int64(2), "optimizer.betas": (0.9, np.float64(0.95))}
            run, _ = train(flat, out=folder / "b", overrides={"model.d_model": 8, "model.num_heads": 2})
            self.assertEqual((run.config["model"]["d_model"], run.config["optimizer"]["betas"]), (8, [0.9, 0.95]))
            for wrong in ({"model": {"d_model": None}}, {1: 2}, {"model": {"d_model": object()}}):
                with self.assertRaisesRegex(qkv.Error, "^config: .*expected"):
                    train(wrong, out=folder / "c")

    def test_a_config_that_has_itself_in_it_is_refused(self):
        for config in ({}, {"model": {"d_model": []}}):
            inner = config.get("model", config)
            if "d_model" in inner:
                inner["d_model"].append(inner["d_model"])
            else:
                inner["model"] = inner
            with self.assertRaises(RecursionError):
                train(config)

    def test_a_warning_that_is_an_error_comes_out(self):
        with Folder() as folder:
            run, _ = train(out=folder / "a")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.assertRaisesRegex(UserWarning, "question"):
                    run.generate("01")


if __name__ == "__main__":
    unittest.main()
