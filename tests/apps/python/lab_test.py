"""A lab from Python: the report of the command line."""

import json
import signal
import unittest

import qkv
from runs import Folder, interrupted, qkv_program


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
