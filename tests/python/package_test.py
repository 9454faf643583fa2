"""The package against the command line: one engine, so one answer."""

import csv
import datetime
import inspect
import json
import os
import pickle
import threading
import time

from common import SOURCE, bs, main, printed, run, scratch, trace, unittest

from bubblescope import _options


class Documents(unittest.TestCase):
    def test_of_a_run_are_those_of_analyze(self):
        path = trace()
        loaded = bs.load(path)
        document = printed("analyze", path)
        self.assertEqual(loaded.document, document)
        self.assertEqual(dict(loaded.schedule), document["schedule"])
        self.assertEqual(loaded.findings, document["anomalies"])
        self.assertEqual(loaded.summary, printed("analyze", "--summary", path))
        self.assertEqual(loaded.summary.text, run("analyze", "--summary", path))

    def test_of_selected_steps_are_too(self):
        path = os.path.join(SOURCE, "tests", "data", "traces", "bytedance_two_replicas.json")
        document = printed("analyze", path, "--replica", "1", "--rank", "0")
        self.assertEqual(bs.load(path, replicas=1, ranks=[0]).document, document)
        self.assertNotEqual(bs.load(path).document, document)

    def test_of_whatif_and_advise_are_too(self):
        path = trace()
        loaded = bs.load(path)
        self.assertEqual(loaded.whatif(), printed("whatif", path))
        changed = loaded.whatif("rank:2=2x", "comm=0")
        self.assertEqual(changed, printed("whatif", path, "--if", "rank:2=2x", "--if", "comm=0"))
        self.assertIn("scenario", changed)
        self.assertEqual(str(changed), run("whatif", path, "--if", "rank:2=2x", "--if", "comm=0"))
        self.assertEqual(loaded.advise(layers=[8, 8, 8, 8]), printed("advise", path, "--layers", "8,8,8,8"))
        self.assertEqual(loaded.advise(layers=[8, 8, 8, 8]), loaded.advise(layers="8,8,8,8"))

    def test_of_two_runs_are_too(self):
        a, b = trace(), trace("slower.pftrace", forward="3ms")
        document = printed("diff", a, b)
        self.assertEqual(bs.diff(a, b), document)
        self.assertEqual(bs.load(a).diff(bs.load(b)), document)

    def test_of_plans_are_too(self):
        sizes = ("--schedule", "interleaved", "--pp", "4", "--microbatches", "8", "--vpp", "2")
        times = ("--forward", "1500us", "--backward", "3ms", "--comm", "20us")
        same = dict(pp=4, microbatches=8, vpp=2, forward=datetime.timedelta(microseconds=1500), backward=3_000_000,
                    comm="20us")
        expected = printed("schedule", *sizes, *times)
        self.assertEqual(expected.pop("schema_version"), 1)
        self.assertEqual(bs.schedule("interleaved", **same), expected)
        self.assertEqual(bs.simulate("interleaved", **same), printed("simulate", *sizes, *times))
        self.assertEqual(bs.formula("interleaved", **same), printed("formula", *sizes, *times))
        sent = dict(same, activation_bytes=32 << 20, bandwidth="50GB/s", comm_overlap=False)
        self.assertEqual(bs.simulate("interleaved", **sent),
                         printed("simulate", *sizes, *times, "--activation-bytes", "32MiB", "--bandwidth", "50GB/s",
                                 "--no-comm-overlap"))

    def test_of_a_search_are_too(self):
        words = ("search", "--pp", "4", "--microbatches", "6", "--rounds", "2", "--memory-limit", "3", "--seed", "7")
        found, expected = bs.search(pp=4, microbatches=6, rounds=2, memory_limit=3, seed=7), printed(*words)
        self.assertEqual({k: v for k, v in found.items() if k != "seconds"},
                         {k: v for k, v in expected.items() if k not in ("seconds", "framework")})
        self.assertEqual(found.order.simulate()["makespan_ns"], found["makespan_ns"])
        recorded = bs.search(recorded=bs.load(trace()), rounds=1)
        self.assertEqual(recorded["from"], printed("search", "--from", trace(), "--rounds", "1")["from"])


class Plans(unittest.TestCase):
    def test_families_of_two_chunks_need_not_be_told(self):
        self.assertEqual(bs.schedule("zb-v", pp=4, microbatches=8)["vpp"], 2)
        self.assertEqual(bs.schedule("1f1b", pp=4, microbatches=8)["vpp"], 1)
        with self.assertRaises(bs.UsageError):
            bs.schedule("zb-v", pp=4, microbatches=8, vpp=3)

    def test_an_order_goes_on_to_the_next_call(self):
        made = bs.schedule("zb-h1", pp=4, microbatches=8)
        times = dict(forward="1ms", input_grad="1ms", weight_grad="500us")
        self.assertEqual(made.simulate(**times), bs.simulate("zb-h1", pp=4, microbatches=8, **times))
        path = scratch("order.json")
        with open(path, "w") as file:
            file.write(made.to_json())
        self.assertEqual(bs.validate(path), printed("validate", path))
        self.assertEqual(bs.validate(made), bs.validate(json.loads(made.to_json())))
        self.assertEqual(bs.schedule(schedule_file=path)["ranks"], made.order)
        broken = json.loads(made.to_json())
        broken["ranks"][0].reverse()
        problems = bs.validate(broken)
        self.assertFalse(problems["valid"])
        self.assertTrue(problems["problems"])

    def test_a_simulated_step_is_written_and_loaded(self):
        step = bs.simulate("1f1b", pp=2, microbatches=4, forward="1ms")
        path = scratch("step.pftrace")
        step.write(path)
        loaded = bs.load(path)
        for ours, theirs in ((step.ops(), loaded.ops()), (step.bubbles(), loaded.bubbles())):
            self.assertEqual(ours.to_dict(), theirs.to_dict())
        self.assertEqual(loaded.step().ops().to_dict(), loaded.ops().to_dict())


class Tables(unittest.TestCase):
    def test_are_those_of_csv(self):
        path, folder = trace(), scratch("tables")
        run("analyze", path, "--csv", folder)
        loaded = bs.load(path)
        for name in ("steps", "accounting", "findings", "ops", "bubbles", "transfers"):
            table = loaded.table(name)
            with open(os.path.join(folder, name + ".csv"), newline="") as file:
                heads, *rows = csv.reader(file)
            self.assertEqual(table.columns, heads)
            self.assertEqual(len(table), len(rows))
            for row, cells in zip(rows, (table[i] for i in range(len(table)))):
                for text, (key, value) in zip(row, cells.items()):
                    if value is None:
                        self.assertEqual(text, "")
                    elif isinstance(value, bool):
                        self.assertEqual(text, str(value).lower())
                    elif isinstance(value, float):
                        self.assertEqual(float(text), value)
                    else:
                        self.assertEqual(text.lstrip("'"), str(value).lstrip("'"), key)
        self.assertEqual(loaded.ops().to_dict(), loaded.table("ops").to_dict())

    def test_are_indexed_as_lists_and_dicts(self):
        table = bs.load(trace()).ops()
        whole = table.to_dict()
        self.assertEqual(len(table), 64)
        self.assertEqual(table[-1], {name: cells[-1] for name, cells in whole.items()})
        self.assertEqual(table[10:13].to_dict(), {name: cells[10:13] for name, cells in whole.items()})
        self.assertEqual(table[10:13][1:].to_dict(), {name: cells[11:13] for name, cells in whole.items()})
        self.assertEqual(table["start_ns"].to_list(), whole["start_ns"])
        self.assertEqual(list(table["kind"]), whole["kind"])
        self.assertIn("kind", table)
        self.assertNotIn("kinds", table)
        for wrong, error in ((64, IndexError), (-65, IndexError), ("kinds", KeyError), (slice(0, 9, 2), ValueError)):
            with self.assertRaises(error):
                table[wrong]

    def test_share_the_memory_of_numbers(self):
        table = bs.load(trace()).ops()
        view = memoryview(table["start_ns"])
        self.assertEqual((view.format, view.itemsize, view.readonly), ("q", 8, True))
        self.assertEqual(view.tolist(), table["start_ns"].to_list())
        self.assertEqual(memoryview(table[5:9]["rank"]).tolist(), table["rank"].to_list()[5:9])
        del table
        self.assertEqual(len(view.tolist()), 64)  # the column keeps what it shows
        with self.assertRaises(TypeError):
            memoryview(bs.load(trace()).ops()["kind"])

    def test_show_themselves(self):
        table = bs.load(trace()).ops()
        page = table._repr_html_()
        self.assertIn("start_ns", page)
        self.assertIn("64 rows", page)
        self.assertEqual(page.count("<tr>"), 12)  # names, five rows at each end and what is between

    def test_of_slices_hold_all_that_info_counts(self):
        path = trace()
        loaded = bs.load(path)
        counted = printed("info", path)["files"][0]["by_category"]
        self.assertEqual(len(loaded.slices()), sum(counted.values()))
        for category, count in counted.items():
            self.assertEqual(len(loaded.slices(category)), count)
        with self.assertRaisesRegex(bs.UsageError, "there are 'op'"):
            loaded.slices("kernels")


class Failures(unittest.TestCase):
    def test_have_the_text_of_the_command_line(self):
        damaged = scratch("damaged.json")
        with open(damaged, "w") as file:
            file.write('{"schedule": 7')
        for call, words, code in (
                (lambda: bs.load("/no/such/trace"), ("analyze", "/no/such/trace"), 3),
                (lambda: bs.validate(damaged), ("validate", damaged), 3),
                (lambda: bs.schedule("nothing", pp=2, microbatches=2),
                 ("schedule", "--schedule", "nothing", "--pp", "2", "--microbatches", "2"), 2),
                (lambda: bs.simulate("1f1b", pp=2, microbatches=2, forward="2"),
                 ("simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--forward", "2"), 2),
                (lambda: bs.load(trace()).whatif("rank:9=2x"), ("whatif", trace(), "--if", "rank:9=2x"), 2),
                (lambda: bs.load(trace(), steps=99), ("analyze", trace(), "--step", "99"), 2)):
            with self.assertRaises(bs.Error) as raised:
                call()
            # In a terminal's lines: the cause, then the way out on a line of its own.
            printed = " ".join(run(*words, code=code).split("bubblescope: ")[-1].split())
            way_out = raised.exception.way_out
            expected = str(raised.exception)
            if way_out:
                expected = f"{expected.removesuffix(f' ({way_out})')} -> {way_out}"
            self.assertEqual(expected, printed)
            self.assertEqual(isinstance(raised.exception, bs.UsageError), code == 2)
            self.assertEqual(isinstance(raised.exception, bs.InputError), code == 3)

    def test_name_keywords(self):
        with self.assertRaisesRegex(bs.UsageError, r"vpp=0 is not a valid number of chunks"):
            bs.schedule("1f1b", pp=4, microbatches=8, vpp=0)
        with self.assertRaisesRegex(bs.UsageError, r"\(omit vpp, or use interleaved\)"):
            bs.schedule("1f1b", pp=4, microbatches=8, vpp=2)
        with self.assertRaisesRegex(bs.UsageError, "comm=-5 is negative"):
            bs.simulate("1f1b", pp=4, microbatches=8, comm=-5)

    def test_name_place_and_way_out(self):
        with self.assertRaises(bs.InputError) as raised:
            bs.load("/no/such/trace")
        self.assertEqual(raised.exception.place, "/no/such/trace")
        with self.assertRaises(bs.UsageError) as raised:
            bs.schedule("1f1b", pp=2)
        self.assertTrue(raised.exception.way_out)
        again = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((str(again), again.way_out), (str(raised.exception), raised.exception.way_out))

    def test_of_keywords_name_those_there_are(self):
        with self.assertRaisesRegex(TypeError, "no keyword 'microbatch'; known keywords: pp, microbatches"):
            bs.simulate("1f1b", pp=2, microbatch=2)
        for wrong in ({"forward": 1.5}, {"forward": True}, {"activation_bytes": 1.5}):
            with self.assertRaises(TypeError):
                bs.simulate("1f1b", pp=2, microbatches=2, **wrong)
        with self.assertRaises(TypeError):
            bs.load()

    def test_of_traces_without_a_pipeline_come_late(self):
        path = os.path.join(SOURCE, "tests", "data", "traces", "kineto_amd.json")
        document = printed("analyze", path)
        self.assertIsNone(document["schedule"], "the trace serves this test no more")
        loaded = bs.load(path)
        self.assertEqual(loaded.document, document)
        self.assertEqual(loaded.findings, [])
        self.assertGreater(len(loaded.slices()), 0)
        self.assertGreater(len(loaded.table("kernels")), 0)
        self.assertIsNone(loaded._repr_svg_())
        for call in (loaded.ops, loaded.step, loaded.whatif, lambda: loaded.schedule):
            with self.assertRaises(bs.InputError):
                call()


class LongLoads(unittest.TestCase):
    """On traces that take some hundred milliseconds."""

    @classmethod
    def setUpClass(cls):
        cls.path = trace("long.pftrace", pp=16, microbatches=2048)

    def test_report_progress(self):
        seen = []
        bs.load(self.path, progress=lambda done, total: seen.append((done, total)))
        self.assertTrue(seen)
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(seen[-1][0], seen[-1][1])

    def test_let_other_threads_run(self):
        laps, over = [0], threading.Event()

        def count():
            while not over.is_set():
                laps[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        before = laps[0]
        bs.load(self.path)
        after = laps[0]
        over.set()
        thread.join()
        self.assertGreater(after, before + 5)

    def test_end_when_progress_raises(self):
        class Enough(Exception):
            pass

        def stop(done, total):
            raise Enough

        with self.assertRaises(Enough):
            bs.load(self.path, progress=stop)
        with self.assertRaises(Enough):
            bs.search(pp=4, microbatches=64, time_limit="600s", forward="1ms", backward="1.7ms", noise="5%",
                      progress=stop)

    def test_end_on_ctrl_c(self):
        import signal
        import subprocess
        import sys
        code = ("import bubblescope as bs\n"
                "print('ready', flush=True)\n"
                "try:\n"
                "    bs.search(pp=8, microbatches=64, vpp=2, forward='1ms', backward='1.7ms', noise='5%', memory_limit=12,\n"
                "              time_limit='600s', progress=lambda done, total: print('on', flush=True))\n"
                "except KeyboardInterrupt:\n"
                "    print('interrupted', flush=True)\n")
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
            self.assertEqual(child.stdout.readline(), "ready\n")
            self.assertEqual(child.stdout.readline(), "on\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.read().splitlines()[-1], "interrupted")
        self.assertEqual(child.returncode, 0)

    def test_answers_about_runs_end_on_ctrl_c(self):
        import signal
        path = trace("several.pftrace", pp=8, microbatches=64)
        run = bs.load(path)

        def interrupt(number, frame):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    run.advise(search_time="600s")
            signal.setitimer(signal.ITIMER_REAL, 0.0001)
            with self.assertRaises(KeyboardInterrupt):
                while True:  # most of the time is spent in whatif()
                    run.whatif()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


class Notebooks(unittest.TestCase):
    def test_draw_runs_schedules_and_steps(self):
        loaded = bs.load(trace())
        for drawn in (loaded, loaded.schedule, loaded.step(), bs.schedule("zb-v", pp=4, microbatches=8),
                      bs.simulate("1f1b", pp=4, microbatches=8)):
            self.assertTrue(drawn._repr_svg_().startswith("<svg"), type(drawn))
            self.assertIn("<svg", drawn._repr_html_())
        self.assertIn("<pre>", loaded.whatif()._repr_html_())
        self.assertIn("<html", loaded.to_html())

    def test_leave_out_drawings_that_no_browser_shows(self):
        wide = bs.schedule("1f1b", pp=64, microbatches=512)
        self.assertIsNone(wide._repr_svg_())
        self.assertIn("<pre>", wide._repr_html_())


class Signatures(unittest.TestCase):
    FUNCTIONS = {bs.schedule: _options.ScheduleKeywords, bs.simulate: _options.SimulateKeywords,
                 bs.formula: _options.ScheduleKeywords, bs.validate: _options.ValidateKeywords,
                 bs.load: _options.LoadKeywords, bs.search: _options.SearchKeywords, bs.diff: _options.DiffKeywords,
                 bs.Run.whatif: _options.ModelKeywords, bs.Run.advise: _options.AdviseKeywords}

    def test_show_every_keyword(self):
        for function, kind in self.FUNCTIONS.items():
            self.assertLessEqual(set(_options.keywords_of(kind)), set(inspect.signature(function).parameters))
            self.assertTrue(function.__doc__)

    def test_name_what_the_compiled_part_takes(self):
        """None stands for a keyword that is not given: a name that is unknown there would be an error."""
        loaded = bs.load(trace())
        calls = {bs.schedule: lambda **more: bs.schedule("1f1b", **{**more, "pp": 2, "microbatches": 2}),
                 bs.simulate: lambda **more: bs.simulate("1f1b", **{**more, "pp": 2, "microbatches": 2}),
                 bs.formula: lambda **more: bs.formula("1f1b", **{**more, "pp": 2, "microbatches": 2}),
                 bs.validate: lambda **more: bs.validate(bs.schedule("1f1b", pp=2, microbatches=2), **more),
                 bs.load: lambda **more: bs.load(trace(), **more),
                 bs.search: lambda **more: bs.search(**{**more, "pp": 2, "microbatches": 2, "rounds": 0}),
                 bs.diff: lambda **more: bs.diff(loaded, loaded, **more),
                 bs.Run.whatif: lambda **more: loaded.whatif(**more),
                 bs.Run.advise: lambda **more: loaded.advise(**more)}
        for function, kind in self.FUNCTIONS.items():
            calls[function](**{name: None for name in _options.keywords_of(kind)})


if __name__ == "__main__":
    main()
