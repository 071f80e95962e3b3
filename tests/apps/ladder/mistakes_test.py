"""The engine's answers are right, the formulas are the engine's, what is planted into a solution is found by its name, and
each rung lowers the loss of the same text; the last one ends where ./qkv train does."""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from kit import SOLUTIONS, LadderTest

import numpy as np
import qkv

import formulas
import training
from check import check
from ladder import Texts, all_planted
from mistakes import MISTAKES
from rungs import RUNGS, inputs, leaves, mapped, of_engine

LEAST_SHARE = 0.95


def is_matrix(x) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == float


def differ(a: dict, b: dict) -> bool:
    return a.keys() != b.keys() or any(np.shape(a[key]) != np.shape(b[key]) or not np.allclose(a[key], b[key]) for key in a)


class RungsTest(LadderTest):
    def test_the_engine_passes_its_gradient_check_on_each_part(self):
        for rung in RUNGS:
            for part in rung.parts:
                args = inputs(part, square=False)
                arrays = [leaf for leaf in leaves(args).values() if is_matrix(leaf)]

                def of(*tensors):
                    rest = iter(tensors)
                    return part.engine(*(mapped(lambda x: next(rest) if is_matrix(x) else x, each) for each in args))
                with self.subTest(rung=rung.number, part=part.forward):
                    self.assertTrue(qkv.gradcheck(of, arrays).passed)

    def test_the_formulas_are_the_engines(self):
        for rung in RUNGS:
            for part in rung.parts:
                for square in (False, True):
                    args = inputs(part, square)
                    [result] = of_engine(part, args)
                    upstream = np.random.default_rng(3).normal(size=result.shape)
                    computed = part.formula(*args, upstream)
                    np.testing.assert_allclose(computed[part.result], result, atol=1e-12)
                    gradients = of_engine(part, args, upstream) if part.backward else []
                    for name, right in zip(part.wrt.split(), gradients):
                        for path, each in leaves(right).items():
                            np.testing.assert_allclose(leaves(computed["d" + name])[path], each, atol=1e-11)

    def test_each_mistake_of_the_formulas_changes_what_is_computed(self):
        for rung in RUNGS:
            for part in rung.parts:
                changes = {}
                sentences = Texts("en").tables["mistake"]
                for square in (False, True):
                    args = inputs(part, square)
                    args.append(np.random.default_rng(3).normal(size=of_engine(part, args)[0].shape))
                    names = [part.result] + ["d" + name for name in part.wrt.split() if part.backward]
                    right = leaves([formulas.with_slip("", part.formula, args)[name] for name in names])
                    for slip in formulas.slips_of(part.formula, args):
                        wrong = formulas.with_slip(slip, part.formula, args)
                        self.assertIn(slip.partition(" ")[0], sentences)
                        is_change = wrong is not None and differ(right, leaves([wrong[name] for name in names]))
                        changes[slip] = changes.get(slip, False) or is_change
                self.assertEqual([slip for slip, is_change in changes.items() if not is_change], [], part.forward)


class MistakesTest(LadderTest):
    def test_the_solutions_are_right(self):
        for rung in RUNGS:
            self.assertEqual(check(rung, SOLUTIONS).kind, "", rung.name)

    def test_nearly_all_are_named(self):
        self.assertEqual({rung.name: len(MISTAKES[rung.name]) for rung in RUNGS}, {rung.name: 20 for rung in RUNGS})

        def verdict_on(job):
            rung, number, (_, old, new) = job
            folder = self.student(f"{rung.name}-{number}", **{f"rung{rung.number:02}": (old, new)})
            return check(rung, folder, with_quotient=False).kind

        jobs = [(rung, number, mistake) for rung in RUNGS for number, mistake in enumerate(MISTAKES[rung.name])]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            kinds = list(pool.map(verdict_on, jobs))
        self.assertNotIn("", kinds)
        others = [(rung.name, number, mistake[0], kind) for (rung, number, mistake),
                  kind in zip(jobs, kinds) if kind != mistake[0]]
        share = 1 - len(others) / len(jobs)
        print(f"{len(jobs)} mistakes, {100 * share:.1f} % of them by their name; the others: {others}")
        self.assertGreaterEqual(share, LEAST_SHARE)

    def test_of_what_the_planter_can_plant_most_is_named_too(self):
        jobs = [(rung, planted) for rung in RUNGS for planted in all_planted((SOLUTIONS / f"{rung.module}.py").read_text())]

        def verdict_on(number):
            rung, planted = jobs[number]
            folder = self.student(f"planted-{number}")
            (folder / f"{rung.module}.py").write_text(planted)
            return check(rung, folder, with_quotient=False).kind

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            kinds = [kind for kind in pool.map(verdict_on, range(len(jobs))) if kind]  # some change nothing: S + max(S)
        share = 1 - kinds.count("unknown") / len(kinds)
        print(f"{len(kinds)} planted, {100 * share:.1f} % of them with more than \"is wrong\"")
        self.assertGreater(len(kinds), 0.95 * len(jobs))
        self.assertGreater(share, 0.8)


class TrainingTest(LadderTest):
    def test_each_rung_lowers_the_loss_and_the_last_is_that_of_the_engine(self):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            trained = list(pool.map(lambda rung: training.climb(rung, SOLUTIONS), RUNGS))
        losses = [each["loss"] for each in trained]
        print(", ".join(f"{loss:.4f}" for loss in losses))
        self.assertEqual(losses, sorted(losses, reverse=True))
        of_engine = training.of_engine()
        self.assertLess(abs(losses[-1] - of_engine), 0.01 * of_engine)
        text = (training.CONFIG.parent / "sentences.tsv").read_text(encoding="utf-8")
        known = [sum(word in text.split() for word in each["sample"].split()[1:-1]) for each in trained]
        self.assertLess(known[0], 3)
        self.assertGreater(known[-1], 5)


if __name__ == "__main__":
    unittest.main()
