"""What Python finds of a run and of a lab is what the command line finds."""

import contextlib
import io
import json
import os
import signal
import unittest
import unittest.mock

import numpy as np

import qkv
from runs import CONFIG, Folder, error_of, interrupted, qkv_program


class TrainedRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = Folder()
        cls.folder = cls.made.__enter__()
        cls.addClassCleanup(cls.made.__exit__, None, None, None)
        with contextlib.redirect_stdout(io.StringIO()):
            qkv.train(CONFIG, out=cls.folder / "tiny")

    def loaded(self):
        return qkv.load(self.folder / "tiny")


class RunTest(TrainedRun):
    def test_a_run_writes_what_qkv_generate_writes(self):
        run = self.loaded()
        words = ("generate", self.folder / "tiny", "--temperature", "0", "--json", "-")
        told = json.loads(qkv_program(*words, "--prompt", "012=", "--prompt", "333=").stdout)
        expected = [text["text"] for text in told["texts"]]
        self.assertEqual(run.generate(["012=", "333="], temperature=0), expected)
        self.assertEqual(run.generate("012=", temperature=0), expected[0])
        self.assertEqual(len(run.generate("012=", samples=3)), 3)
        self.assertEqual(run.generate([]), [])

    def test_metrics_are_columns_with_nan_where_a_line_has_no_number(self):
        metrics = self.loaded().metrics
        lines = [json.loads(line) for line in (self.folder / "tiny/metrics.jsonl").read_text().splitlines()]
        self.assertEqual(metrics["step"].tolist(), [line["step"] for line in lines])
        self.assertEqual(metrics["step"].dtype, np.int64)
        for name in ("loss", "val_loss", "grad_norm"):
            np.testing.assert_array_equal(metrics[name], [line.get(name, np.nan) for line in lines])
        self.assertTrue(np.isnan(metrics["val_loss"][0]))

    def test_the_config_is_that_of_the_file(self):
        config = self.loaded().config
        self.assertEqual(config["model"]["d_model"], 16)
        self.assertEqual((config["name"], config["data"]["task"]), ("tiny", "reverse"))

    def test_the_logits_have_gradients_by_the_parameters(self):
        run = self.loaded()
        tokens = run.encode("012=")
        self.assertEqual(run.decode(tokens), "012=")
        logits = run.model(tokens)
        self.assertEqual(tuple(logits.shape[:2]), (1, 4))
        batch = run.model(np.array([tokens, tokens]))
        # Not the same bits (docs/results.md). A logit is a sum of 16 products, behind it lie sums of 32 at most in the
        # feed-forward layer, of 16 in attention's two maps.
        rounding = (16 + 32 + 2 * 16) * 2.0**-24 * np.abs(batch.numpy()).max()
        np.testing.assert_allclose(batch.numpy()[0], batch.numpy()[1], rtol=0, atol=rounding)
        gradients = qkv.backward(qkv.sum(logits))
        weight = run.parameters["blocks.0.attention.query.weight"]
        self.assertEqual(np.asarray(gradients[weight]).shape, tuple(weight.shape))

    def test_mistakes_have_the_sentences_of_the_command_line(self):
        run = self.loaded()
        tiny = self.folder / "tiny"
        for call, words in (
                (lambda: qkv.load("no/such"), ("generate", "no/such", "--prompt", "0")),
                (lambda: run.generate("0x="), ("generate", tiny, "--prompt", "0x=")),
                (lambda: run.generate("0=", temperature=-1), ("generate", tiny, "--prompt", "0=", "--temperature", "-1")),
                (lambda: run.generate("0=", beam=0), ("generate", tiny, "--prompt", "0=", "--beam", "0")),
                (lambda: run.trace("012=", validation=1), ("explain", tiny, "--prompt", "012=", "--validation", "1")),
                (lambda: run.trace("x"), ("explain", tiny, "--prompt", "x")),
                (lambda: run.trace(layer=7), ("explain", tiny, "--layer", "7")),
                (lambda: qkv.lab("scalng"), ("lab", "scalng")),
                (lambda: qkv.lab("scaling", steps=3), ("lab", "scaling", "--steps", "3")),
                (lambda: qkv.train(CONFIG, out=tiny), ("train", tiny / "config.toml", "--out", tiny)),
                (lambda: qkv.train(tiny), ("train", tiny))):
            with self.assertRaises(qkv.Error) as raised:
                call()
            self.assertEqual(str(raised.exception), error_of(*words))
            self.assertIsInstance(raised.exception, ValueError)

    def test_what_the_model_cannot_read_is_an_error(self):
        run = self.loaded()
        wrong = ([], [[]], [99], [-1], [0.5], ["a"], "012=", None, object(), np.zeros((1, 2, 3), int),
                 [0] * 100, np.zeros((2, 2), complex), [[0], [0, 1]])
        for tokens in wrong:
            with self.assertRaises((ValueError, TypeError), msg=repr(tokens)):
                run.model(tokens)
        for inputs in ((), ([0], [0])):
            with self.assertRaisesRegex(qkv.Error, "needs one input"):
                run.model(*inputs)
        with self.assertRaises(qkv.Error):
            run.decode([99])
        for call in (run.generate, run.trace, run.encode, run.decode, qkv.load, qkv.train, qkv.lab, qkv.heat_map):
            for value in (b"x", 1.5, object(), {1}, lambda: 0):
                with self.assertRaises((qkv.Error, TypeError), msg=f"{call} {value}"):
                    call(value)
        for shape in ((3,), (2, 2, 2)):
            with self.assertRaisesRegex(qkv.Error, "needs a matrix"):
                qkv.heat_map(np.zeros(shape))
        with self.assertRaisesRegex(qkv.Error, "2 names for 3 rows"):
            qkv.heat_map(np.zeros((3, 1)), rows=["a", "b"])
        with self.assertRaisesRegex(qkv.Error, "heat_map: shows at most 16384 numbers, not f64"):
            qkv.heat_map(np.zeros((129, 128)))
        for numbers in (np.zeros((0, 3)), np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.array([[-1, 2]])):
            self.assertIn("<svg", qkv.heat_map(numbers, "<&>").html)


class TraceTest(TrainedRun):
    def test_a_trace_has_the_numbers_of_the_page(self):
        trace = self.loaded().trace("012=")
        weights = trace["blocks.0.attention.weights"].numpy()
        scores = trace["blocks.0.attention.scores"].numpy()
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) == 1, scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(shares / shares.sum(-1, keepdims=True), weights, atol=1e-12)
        self.assertIn("blocks.0.attention.query.weight", trace.names())
        self.assertEqual((len(trace), list(trace)), (len(trace.names()), trace.names()))
        self.assertEqual(trace["loss"].item(), trace.loss)

    def test_a_trace_that_memory_has_no_room_for_is_refused(self):
        run = self.loaded()
        with unittest.mock.patch.dict(os.environ, QKV_MEMORY="10000"):
            with self.assertRaisesRegex(qkv.Error, "all numbers of this model .* are available"):
                run.trace("012=")

    def test_a_gradient_is_that_of_the_loss(self):
        run = self.loaded()
        trace = run.trace("012=", target="210")
        logits, targets = trace["logits"].numpy(), trace["targets"].numpy()
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        counted = targets >= 0
        expected = np.where(counted[..., None], shares - np.eye(logits.shape[-1])[targets], 0) / counted.sum()
        np.testing.assert_allclose(trace.gradient("logits").numpy(), expected, atol=1e-12)

    def test_the_page_is_that_of_qkv_explain(self):
        trace = self.loaded().trace("012=")
        path = trace.explain(self.folder / "python.html")
        for size in (0, 501):
            with self.assertRaisesRegex(qkv.Error, f"^max_size must be between 1 and 500, not {size}$"):
                trace.explain(self.folder / "none.html", max_size=size)
        result = qkv_program("explain", self.folder / "tiny", "--prompt", "012=", "--out", self.folder / "cli.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(path.read_text(), (self.folder / "cli.html").read_text())
        self.assertIn("srcdoc", trace._repr_html_())
        told = qkv_program("explain", self.folder / "tiny", "--prompt", "012=", "--text").stdout
        self.assertEqual(str(trace).split(), told.split())

    def test_a_name_that_it_has_not_is_said(self):
        trace = self.loaded().trace("012=")
        for name in ("blocks.0.attention.score", "nothing"):
            with self.assertRaisesRegex(qkv.Error, f'^the trace has no "{name}"; '):
                trace[name]
        with self.assertRaisesRegex(qkv.Error, 'no gradient of "tokens"'):
            trace.gradient("tokens")


class LabTest(unittest.TestCase):
    def test_findings_and_page_are_those_of_the_command_line(self):
        lab = qkv.lab("scaling", d=[4, 16], seeds=9)
        with Folder() as folder:
            result = qkv_program("lab", "scaling", "--d", "4,16", "--seeds", "9", "--json", folder / "a.json", "--out",
                                 folder / "a.html")
            self.assertEqual(result.returncode, 0, result.stderr)
            lab.save(folder / "b.html")
            self.assertEqual((folder / "b.html").read_text(), (folder / "a.html").read_text())
            told = json.loads((folder / "a.json").read_text())
        findings = [finding["measured"] for section in told["sections"] for finding in section["findings"]]
        self.assertEqual([row["measured"] for row in lab.findings], findings)
        self.assertEqual(str(lab).split(), result.stdout.split())
        self.assertIn("<td>" + lab.findings[0]["result"] + "</td>", lab.findings._repr_html_())

    def test_its_figures_are_pictures(self):
        figures = qkv.lab("scaling", d=(4, 16), seeds=9).figures
        self.assertTrue(figures)
        for figure in figures:
            self.assertRegex(figure.html, "<svg|<table")  # a map of a claim is a table
            self.assertIn(figure.title, figure.html)
            self.assertIn("srcdoc", figure._repr_html_())

    def test_the_labs_are_listed(self):
        self.assertIn("scaling", qkv.labs())
        self.assertTrue(all(qkv.labs().values()))

    def test_an_exception_in_its_progress_ends_it(self):
        def refuse(what):
            raise KeyboardInterrupt

        with Folder() as folder:
            with self.assertRaises(KeyboardInterrupt):
                qkv.lab("scaling-train", steps=50, seeds=2, runs=folder, progress=refuse)

    def test_ctrl_c_ends_what_says_nothing(self):
        def stop(*_):
            raise KeyboardInterrupt

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with self.assertRaises(KeyboardInterrupt):
            qkv.lab("scaling", d=range(4085, 4097), n=128, seeds=100)  # half an hour

    def test_ctrl_c_ends_it(self):
        with Folder() as folder:
            call = ("qkv.lab('scaling-train', steps=100000, seeds=1, runs=sys.argv[1], "
                    "progress=lambda what: print('go', flush=True))")
            self.assertTrue(interrupted(call, folder).endswith("interrupted\n"))


if __name__ == "__main__":
    unittest.main()
