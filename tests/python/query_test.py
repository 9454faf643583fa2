"""Run.query(): questions that engineers ask of every training trace, answered in SQL and, independently, from the raw JSON."""

import collections
import gzip
import json
import os
import random
import statistics
from decimal import Decimal

from common import SOURCE, bs, main, printed, scratch, trace, unittest


# ---- A job with known structure ----


def made_job(path, steps=4, seed=1):
    """The events that PyTorch's profiler writes for a small job with one GPU: steps, modules, operators, launches, kernels, NCCL."""
    draw = random.Random(seed)
    events, clock, free = [], 1000, {7: 0, 20: 0}
    correlation, python_id = 100, 1

    def add(name, cat, tid, ts, dur, args, pid=4711):
        events.append({"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts / 1000, "dur": dur / 1000,
                       "args": args})

    def launch(name, at, stream, dur, args):
        nonlocal correlation
        correlation += 1
        add("cudaLaunchKernel", "cuda_runtime", 1, at, 2000, {"correlation": correlation})
        start = max(at + draw.randrange(3000, 60000), free[stream])
        free[stream] = start + dur
        add(name, "kernel", stream, start, dur, {"correlation": correlation, "stream": stream, "device": 0, **args}, 0)
        for phase, pid, tid, ts in (("s", 4711, 1, at), ("f", 0, stream, start)):
            events.append({"ph": phase, "id": correlation, "cat": "ac2g", "name": "ac2g", "pid": pid, "tid": tid,
                           "ts": ts / 1000, **({"bp": "e"} if phase == "f" else {})})

    for step in range(steps):
        begin = clock
        for layer in range(3):
            at = clock
            clock += 1000
            for op in range(2):
                op_at = clock
                launch(f"gemm_{op}<{layer}>", clock + 1000, 7, draw.randrange(10000, 80000), {})
                clock += 6000
                shape = [[8 << layer, 4], [4, 8]]
                add(f"aten::mm", "cpu_op", 1, op_at, clock - op_at, {"Input Dims": shape, "External id": python_id})
                clock += 500
            python_id += 1
            add(f"nn.Module: Linear_{layer}", "python_function", 1, at, clock - at, {"Python id": python_id})
            clock += 1000
        op_at = clock
        launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", clock + 500, 20, draw.randrange(50000, 90000),
               {"Collective name": "allreduce", "In msg nelems": 1024 << (step % 2), "dtype": "Float"})
        clock += 5000
        add("c10d::allreduce_", "cpu_op", 1, op_at, clock - op_at, {})
        sync = clock
        clock = max(clock, max(free.values())) + 4000
        add("cudaDeviceSynchronize", "cuda_runtime", 1, sync + 500, clock - sync - 1000, {"correlation": 1})
        add("Optimizer.step", "user_annotation", 1, sync, clock - sync, {})
        clock += 3000
        add(f"ProfilerStep#{step}", "user_annotation", 1, begin, clock - begin, {})
        events.append({"ph": "C", "name": "GPU 0 Utilization", "pid": 0, "ts": clock / 1000, "args": {"value": 10 * step}})
        clock += 1000
    add("lonely_kernel", "kernel", 7, clock, 5000, {"correlation": 999999, "stream": 7, "device": 0}, 0)
    add("cudaLaunchKernel", "cuda_runtime", 1, clock, 2000, {"correlation": 888888})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}, file)
    return path


# ---- The same answers from the raw JSON ----


class Raw:
    """Events of one file of PyTorch's profiler, in nanoseconds from the first one."""

    def __init__(self, path):
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8") as file:
            events = json.load(file, parse_float=Decimal)["traceEvents"]
        times = [int(event["ts"] * 1000) for event in events if event.get("ph") in ("X", "i", "C", "s", "t", "f")]
        self.origin = min(times)
        self.slices = [event for event in events if event.get("ph") == "X"]
        for event in self.slices:
            event["ns"] = int(event["ts"] * 1000) - self.origin
            event["dur_ns"] = int(event.get("dur", 0) * 1000)
            event["end_ns"] = event["ns"] + event["dur_ns"]
        self.kernels = self.of("kernel")
        self.nccl = [event for event in self.kernels if event["name"].startswith("nccl")]
        self.others = [event for event in self.kernels if not event["name"].startswith("nccl")]
        self.launches = {event["args"]["correlation"]: event for event in self.of("cuda_runtime", "cuda_driver")
                         if "correlation" in event.get("args", {})}
        self._nest()

    def of(self, *categories):
        return [event for event in self.slices if event.get("cat") in categories]

    def _nest(self):
        """`parent` of each slice: the one around it on its thread."""
        threads = collections.defaultdict(list)
        for event in self.slices:
            threads[event["pid"], event["tid"]].append(event)
        for events in threads.values():
            around = []
            for event in sorted(events, key=lambda each: (each["ns"], -each["dur_ns"])):
                while around and around[-1]["end_ns"] <= event["ns"]:
                    around.pop()
                event["parent"] = around[-1] if around else None
                around.append(event)

    def steps(self):
        return sorted((event["ns"], event["dur_ns"], int(event["name"].split("#")[1])) for event in self.slices
                      if event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation")

    def above(self, event):
        while event is not None:
            yield event
            event = event["parent"]


def percentile(values, percent):
    """With linear interpolation, as NumPy's."""
    values = sorted(values)
    at = percent / 100 * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


class Questions:
    """Mixed in with a trace's path, `path`. Each question is one of `shared/audits/perfetto.md`."""

    @classmethod
    def setUpClass(cls):
        cls.raw = Raw(cls.path)
        cls.loaded = bs.load(cls.path)

    def rows(self, sql):
        return list(zip(*self.loaded.query(sql).to_dict().values()))

    def test_top_kernels_by_stream_in_a_range(self):
        starts = sorted(event["ns"] for event in self.raw.kernels)
        low, high = starts[len(starts) // 4], starts[3 * len(starts) // 4]
        sums = collections.Counter()
        for event in self.raw.kernels:
            if low <= event["ns"] < high:
                sums[event["args"]["stream"], event["name"]] += event["dur_ns"]
        rows = self.rows(f"SELECT stream, name, sum(dur) FROM slice WHERE category = 'kernel' AND ts >= {low} "
                         f"AND ts < {high} GROUP BY stream, name")
        self.assertGreater(len(rows), 0)
        self.assertEqual({(stream, name): total for stream, name, total in rows}, dict(sums))

    def test_gaps_between_kernels(self):
        least = 20_000
        streams = collections.defaultdict(list)
        for event in self.raw.kernels:
            streams[event["pid"], event["tid"]].append((event["ns"], event["end_ns"]))
        expected = []
        for spans in streams.values():
            spans.sort()
            until = spans[0][1]
            for start, end in spans[1:]:
                if start - until > least:
                    expected.append((until, start - until))
                until = max(until, end)
        rows = self.rows(f"""
            SELECT until, ts - until FROM (
              SELECT ts, max(ts_end) OVER (PARTITION BY device, stream ORDER BY ts, id
                                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
              FROM slice WHERE category = 'kernel') WHERE ts - until > {least}""")
        self.assertGreater(len(rows), 0)
        self.assertEqual(sorted(rows), sorted(expected))

    def test_kernels_that_overlap_nccl(self):
        expected = collections.Counter()
        for event in self.raw.others:
            for other in self.raw.nccl:
                both = min(event["end_ns"], other["end_ns"]) - max(event["ns"], other["ns"])
                if both > 0:
                    expected[event["name"]] += both
        rows = self.rows("""
            SELECT k.name, sum(min(k.ts_end, n.ts_end) - max(k.ts, n.ts))
            FROM slice n JOIN slice k ON k.rank = n.rank AND k.ts < n.ts_end AND k.ts_end > n.ts
            WHERE n.kind IN ('collective', 'point-to-point') AND k.kind = 'compute' GROUP BY k.name""")
        self.assertEqual(dict(rows), dict(expected))

    def test_latency_from_launch_to_kernel(self):
        expected = collections.Counter()
        for event in self.raw.kernels:
            launch = self.raw.launches.get(event["args"].get("correlation"))
            if launch is not None:
                expected[(event["ns"] - launch["ns"]) // 10_000] += 1
        rows = self.rows("""
            SELECT (k.ts - l.ts) / 10000, count(*) FROM slice k JOIN slice l
              ON l.correlation = k.correlation AND l.rank = k.rank AND l.kind = 'host'
            WHERE k.category = 'kernel' GROUP BY 1""")
        self.assertGreater(len(rows), 0)
        self.assertEqual(dict(rows), dict(expected))

    def test_nccl_time_per_step_by_collective_and_size(self):
        expected = collections.Counter()
        for begin, length, number in self.raw.steps():
            for event in self.raw.nccl:
                if begin <= event["ns"] < begin + length:
                    args = event["args"]
                    expected[number, args.get("Collective name"), args.get("In msg nelems")] += event["dur_ns"]
        rows = self.rows("""
            SELECT st.step, s.args->>'Collective name', s.args->>'In msg nelems', sum(s.dur)
            FROM step st JOIN slice s ON s.ts >= st.ts AND s.ts < st.ts + st.dur
            WHERE s.kind IN ('collective', 'point-to-point') GROUP BY 1, 2, 3""")
        self.assertEqual({row[:3]: row[3] for row in rows}, dict(expected))

    def test_host_op_behind_a_kernel(self):
        expected = collections.Counter()
        for event in self.raw.kernels:
            launch = self.raw.launches.get(event["args"].get("correlation"))
            parent = launch and launch["parent"]
            if parent:
                expected[event["name"], parent["name"]] += 1
        rows = self.rows("""
            SELECT k.name, op.name, count(*) FROM flow f JOIN slice k ON k.id = f.slice_in
            JOIN slice l ON l.id = f.slice_out JOIN slice op ON op.id = l.parent
            WHERE k.category = 'kernel' GROUP BY 1, 2""")
        self.assertGreater(len(rows), 0)
        self.assertEqual({row[:2]: row[2] for row in rows}, dict(expected))

    def test_gpu_time_per_module(self):
        expected = collections.Counter()
        for event in self.raw.kernels:
            launch = self.raw.launches.get(event["args"].get("correlation"))
            for above in self.raw.above(launch):
                if above["name"].startswith("nn.Module: "):
                    expected[above["name"]] += event["dur_ns"]
                    break
        rows = self.rows("""
            WITH RECURSIVE up(kernel, dur, at, level) AS (
              SELECT k.id, k.dur, l.id, 0 FROM slice k
              JOIN slice l ON l.correlation = k.correlation AND l.rank = k.rank AND l.kind = 'host'
              WHERE k.category = 'kernel'
              UNION ALL
              SELECT up.kernel, up.dur, s.parent, level + 1 FROM up JOIN slice s ON s.id = up.at
              WHERE s.parent IS NOT NULL),
            nearest AS (SELECT kernel, up.dur, name, min(level) FROM up JOIN slice s ON s.id = up.at
                        WHERE s.name GLOB 'nn.Module: *' GROUP BY kernel)
            SELECT name, sum(dur) FROM nearest GROUP BY name""")
        self.assertEqual(dict(rows), dict(expected))

    def test_percentiles_of_a_kernel(self):
        name = collections.Counter(event["name"] for event in self.raw.kernels).most_common(1)[0][0]
        times = [event["dur_ns"] for event in self.raw.kernels if event["name"] == name]
        quoted = name.replace("'", "''")
        (row,) = self.rows(f"""
            SELECT count(*), percentile(dur, 50), percentile(dur, 90), percentile(dur, 99), median(dur)
            FROM slice WHERE name = '{quoted}' AND category = 'kernel'""")
        self.assertEqual(row[0], len(times))
        for got, percent in zip(row[1:4], (50, 90, 99)):
            self.assertAlmostEqual(got, percentile(times, percent), places=4)
        self.assertAlmostEqual(row[4], statistics.median(times), places=4)

    def test_time_by_input_shape(self):
        expected = collections.Counter()
        for event in self.raw.of("cpu_op"):
            shape = event["args"].get("Input Dims")
            if shape is not None:
                expected[event["name"], json.dumps(shape, separators=(",", ":"))] += event["dur_ns"]
        rows = self.rows("""
            SELECT name, json(args->'Input Dims'), sum(dur) FROM slice
            WHERE category = 'cpu_op' AND args->'Input Dims' IS NOT NULL GROUP BY 1, 2""")
        self.assertEqual({row[:2]: row[2] for row in rows}, dict(expected))

    def test_synchronising_calls_by_caller(self):
        expected = collections.Counter()
        for event in self.raw.of("cuda_runtime"):
            if event["name"].endswith("Synchronize"):
                caller = event["parent"]["name"] if event["parent"] else None
                expected[event["name"], caller] += event["dur_ns"]
        rows = self.rows("""
            SELECT s.name, caller.name, sum(s.dur) FROM slice s LEFT JOIN slice caller ON caller.id = s.parent
            WHERE s.category = 'cuda_runtime' AND s.name GLOB '*Synchronize' GROUP BY 1, 2""")
        self.assertEqual({row[:2]: row[2] for row in rows}, dict(expected))

    def test_step_times(self):
        self.assertGreater(len(self.raw.steps()), 0)
        self.assertEqual(self.rows("SELECT ts, dur, step FROM step ORDER BY ts"), self.raw.steps())

    def test_kernels_without_launch_and_launches_without_kernel(self):
        of_kernels = {event["args"].get("correlation") for event in self.raw.of("kernel", "gpu_memcpy", "gpu_memset")}
        lonely = sum(1 for event in self.raw.kernels if event["args"].get("correlation") not in self.raw.launches)
        idle = sum(1 for number, event in self.raw.launches.items()
                   if event["name"] == "cudaLaunchKernel" and number not in of_kernels)
        rows = self.rows("""
            SELECT (SELECT count(*) FROM slice k LEFT JOIN slice l
                      ON l.correlation = k.correlation AND l.rank = k.rank AND l.kind = 'host'
                    WHERE k.category = 'kernel' AND l.id IS NULL),
                   (SELECT count(*) FROM slice l LEFT JOIN slice k
                      ON k.correlation = l.correlation AND k.rank = l.rank AND k.kind <> 'host'
                    WHERE l.name = 'cudaLaunchKernel' AND l.category = 'cuda_runtime' AND k.id IS NULL)""")
        self.assertEqual(rows, [(lonely, idle)])


class MadeJob(Questions, unittest.TestCase):
    path = made_job(scratch("made.json"))

    def test_questions_have_answers(self):
        raw = self.raw
        self.assertTrue(raw.nccl and raw.others and raw.steps())
        (lonely,) = [event for event in raw.kernels if event["args"]["correlation"] not in raw.launches]
        self.assertEqual(lonely["name"], "lonely_kernel")

    def test_counters_beside_steps(self):
        self.assertEqual(self.rows("""
            SELECT st.step, c.value FROM step st JOIN counter c ON c.ts >= st.ts AND c.ts <= st.ts + st.dur
            WHERE c.name = 'GPU 0 Utilization' ORDER BY 1"""), [(0, 0.0), (1, 10.0), (2, 20.0), (3, 30.0)])

    def test_extract_arg_takes_perfettos_keys(self):
        self.assertEqual(self.rows("SELECT DISTINCT extract_arg(arg_set_id, 'args.In msg nelems') FROM slice "
                                   "WHERE kind = 'collective' ORDER BY 1"), [(1024,), (2048,)])


SHARED = os.environ.get("BUBBLESCOPE_SHARED", os.path.join(SOURCE, "..", "shared"))
REAL = os.path.join(SHARED, "traces", "param-dlrm-8rank", "worker1_step_12.1694128201556.pt.trace.json")


@unittest.skipUnless(os.path.exists(REAL), "needs traces/param-dlrm-8rank")
class RealJob(Questions, unittest.TestCase):
    path = REAL


class CommandLine(unittest.TestCase):
    """The command prints what Run.query() returns, in all of its forms."""

    sql = "SELECT name, count(*) AS n, avg(dur) AS mean FROM slice WHERE category = 'kernel' GROUP BY name ORDER BY name"

    def test_prints_what_python_gets(self):
        path = MadeJob.path
        table = bs.load(path).query(self.sql)
        self.assertEqual(printed("query", path, self.sql), [table[row] for row in range(len(table))])

    def test_pipeline_tables(self):
        path = trace()
        run_ = bs.load(path)
        ops = run_.query("SELECT rank, kind, count(*) AS n FROM op GROUP BY rank, kind ORDER BY rank, kind")
        self.assertEqual(ops["n"].to_list(), [8] * 8)  # F and B of 8 micro-batches on 4 ranks
        idle = run_.query("SELECT sum(dur) AS idle FROM bubble")["idle"].to_list()[0]
        self.assertEqual(idle, sum(e - s for s, e in zip(*(run_.bubbles()[n].to_list() for n in ("start_ns", "end_ns")))))

    def test_errors(self):
        run_ = bs.load(MadeJob.path)
        with self.assertRaisesRegex(bs.UsageError, "line 1, column 17.*slice"):
            run_.query("SELECT a.x FROM slices a")
        with self.assertRaises(bs.UsageError):
            run_.query("DELETE FROM slice")


if __name__ == "__main__":
    main()
