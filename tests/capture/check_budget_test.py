"""Which checks a rank keeps for, when it begins one, and what its neighbours do."""

import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "profiler", "python"))
from bubblescope_adapters.check_budget import Budget, Waits
from bubblescope_adapters.neighbours import Neighbours

STEP = 50_000_000
PLANNED = [(kind, microbatch, chunk, layer) for kind in "FB" for microbatch in range(4) for chunk in range(2) for layer in range(3)]


def unit(what):
    return what[0], what[2], what[3]


class BudgetTest(unittest.TestCase):
    def run_steps(self, steps, share, cost, planned=PLANNED, fixed=0, found=lambda what: True):
        budget, now, spent, total, times = Budget(share), 0, 0, 0, {}
        chance = random.Random(5)
        for _ in range(steps):
            budget.begin_step(now, spent)
            chosen, spent = budget.choose(planned), fixed
            for what in chosen:
                took = int(cost(what) * chance.uniform(0.8, 1.2))
                budget.took(what, took)
                spent += took
                if found(what):
                    budget.checked(what)
                    times[unit(what)] = times.get(unit(what), 0) + 1
                else:
                    budget.missed(what)
            total += spent
            now += STEP
        return total / now, times

    def test_checks_take_their_share_and_no_more(self):
        for cost in (2_000, 40_000, 300_000, 5_000_000):
            took, times = self.run_steps(2000, 0.003, lambda what: cost * (3 if what[0] == "B" else 1))
            self.assertLess(took, 0.0033, cost)
            if cost >= 300_000:  # where it is not enough for all
                self.assertGreater(took, 0.002, cost)
            self.assertEqual(len(times), 12, "dear and cheap ones alike")
            self.assertLessEqual(max(times.values()) - min(times.values()), 1 + max(times.values()) // 4)

    def test_cheap_checks_are_all_kept_for(self):
        _, times = self.run_steps(500, 0.003, lambda what: 100)
        self.assertGreater(min(times.values()), 4 * 490)

    def test_what_ops_cost_counts_too(self):
        took, times = self.run_steps(1000, 0.003, lambda what: 50_000, fixed=100_000)
        self.assertLess(took, 0.0033)
        self.assertEqual(len(times), 12)
        _, times = self.run_steps(1000, 0.003, lambda what: 50_000, fixed=200_000)
        self.assertLessEqual(sum(times.values()), 1, "nothing is left for a check")

    def test_nothing_is_paid_with_nothing(self):
        took, times = self.run_steps(100, 0, lambda what: 0)
        self.assertEqual((took, times), (0, {}))

    def test_what_finds_no_bubble_is_tried_more_rarely(self):
        budget, kept = Budget(1), 0
        for step in range(1000):
            budget.begin_step(step * STEP, 0)
            for what in budget.choose([("F", 0, 0, 0)]):
                kept += 1
                budget.took(what, 10)
                budget.missed(what)
        self.assertLess(kept, 80)
        self.assertGreater(kept, 50, "but again")
        budget.checked(("F", 0, 0, 0))
        budget.begin_step(1000 * STEP, 0)
        self.assertEqual(len(budget.choose([("F", 0, 0, 0)])), 1)

    def test_others_of_a_kind_that_fits_do_not_pause(self):
        """Only one check fits per step: all units must get it, not the first one."""
        budget, times = Budget(1), {}
        for step in range(400):
            budget.begin_step(step * STEP, 0)
            chosen = budget.choose([("B", 2, 0, layer) for layer in range(4)])
            for number, what in enumerate(chosen):
                budget.took(what, 10)
                if number == 0:
                    budget.checked(what)
                    times[what] = times.get(what, 0) + 1
            for what in chosen[1:]:
                budget.missed(what)
        self.assertEqual(set(times.values()), {100})

    def test_the_longest_ago_comes_first(self):
        budget = Budget(0.003)
        for step in range(3):
            budget.begin_step(step * STEP, 0)
        for what in PLANNED:
            budget.took(what, 140_000)
        budget.checked(("F", 0, 0, 0))
        chosen = budget.choose([("F", 1, 0, 0), ("F", 1, 0, 1), ("F", 1, 0, 2), ("F", 1, 1, 0)])
        self.assertEqual(chosen, [("F", 1, 0, 1), ("F", 1, 0, 2)])


class WaitsTest(unittest.TestCase):
    def step(self, waits, lengths, at=0):
        waits.begin_step()
        expected = []
        for length in lengths:
            at += 1000
            waits.ran(at)
            expected.append(waits.end(at) - at)
            at += length
            waits.over(at)
        return expected

    def test_a_wait_lasts_as_long_as_the_shortest_of_the_last(self):
        waits = Waits()
        for length in (500, 300, 400, 600):
            self.assertEqual(self.step(waits, [length, 10 * length]), [0, 0], "four are needed")
        self.assertEqual(waits.longest(), 2400)
        self.assertEqual(self.step(waits, [500, 500]), [240, 2400])
        self.assertEqual(self.step(waits, [500, 500]), [240, 400])
        for _ in range(8):
            self.step(waits, [500, 9000])
        self.assertEqual(self.step(waits, [0, 0]), [400, 7200], "only the last count")

    def test_waits_of_one_place_are_told_apart(self):
        waits = Waits()
        for _ in range(4):
            waits.begin_step()
            waits.ran(1000)
            waits.over(1100)
            waits.over(5000)
        waits.begin_step()
        waits.ran(1000)
        self.assertEqual(waits.end(1000), 1080)
        waits.over(1100)
        self.assertEqual(waits.end(1100), 1000 + 3200)

    def test_nothing_is_known_before_the_first_op(self):
        waits = Waits()
        for _ in range(6):
            waits.begin_step()
            self.assertEqual(waits.end(7), 7)
            waits.over(500)


class NeighboursTest(unittest.TestCase):
    def test_a_check_takes_a_core_that_is_free(self):
        """Three processes with a thread each and two cores. The first checks when one other computes, not when both do."""
        ready, go, said = [], [], os.pipe()
        for rank in range(3):
            here, there = os.pipe(), os.pipe()
            ready.append(here[0])
            go.append(there[1])
            if os.fork() == 0:
                status = 1
                try:
                    own = Neighbours(1)
                    own._cores = 2
                    os.write(here[1], b"made")
                    while True:
                        word = os.read(there[0], 1)
                        if word == b"f":
                            own.find()
                        elif word in (b"w", b"c"):
                            own.waits(word == b"w")
                        elif word == b"b":
                            os.write(said[1], b"y" if own.begin_check() else b"n")
                        elif word == b"e":
                            own.end_check()
                        else:
                            break
                        os.write(here[1], b"done")
                    status = 0
                finally:
                    os._exit(status)

        def tell(rank, word):
            os.write(go[rank], word)
            os.read(ready[rank], 9)

        for file in ready:
            os.read(file, 9)
        for rank in range(3):
            tell(rank, b"f")
        answers = ""
        for rank, word in ((0, b"w"), (0, b"b"),  # both others compute
                           (1, b"w"), (0, b"b"),  # one does
                           (1, b"b"),             # and the first checks
                           (0, b"e"), (1, b"b")):
            tell(rank, word)
            if word == b"b":
                answers += os.read(said[0], 1).decode()
        for file in go:
            os.write(file, b"x")
        for _ in range(3):
            self.assertEqual(os.waitstatus_to_exitcode(os.wait()[1]), 0)
        self.assertEqual(answers, "nyny")

    def test_alone_it_checks(self):
        own = Neighbours(4)
        own._cores = 1
        own._others = []
        self.assertTrue(own.begin_check())


if __name__ == "__main__":
    unittest.main()
