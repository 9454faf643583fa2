#!/usr/bin/env python3
"""Writes the traces of pipelines in this folder: one small step in the spelling of each framework.

The times are those of 1F1B with two ranks and two micro-batches, forwards of 10 us and backwards of 20 us, and no time
for transfers. Run it in its own folder; its output is part of the source.
"""
import json
import os

# (kind, micro-batch, begin, end) by rank
STEP = [
    [("F", 0, 0, 10), ("F", 1, 10, 20), ("B", 0, 40, 60), ("B", 1, 70, 90)],
    [("F", 0, 10, 20), ("B", 0, 20, 40), ("F", 1, 40, 50), ("B", 1, 50, 70)],
]


def write(name, text):
    path = os.path.join("traces", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def lines(events):
    return ",\n".join(json.dumps(event) for event in events)


def bytedance():
    """Two replicas, each two ranks; the lanes of a rank are threads 5 apart."""
    events = []
    for dp in range(2):
        for pp in range(2):
            tid = 5 * (2 * pp + dp)
            for lane, name in enumerate(["compute", "pp-comm"]):
                events.append({"ph": "M", "name": "thread_name", "pid": dp, "tid": tid + lane,
                               "args": {"name": f"PP rank {pp}, TP rank 0, {name}"}})
            for kind, mb, begin, end in STEP[pp]:
                name = "forward-compute" if kind == "F" else "backward-compute"
                events.append({"ph": "X", "name": name, "cat": name, "pid": dp, "tid": tid, "ts": 100.5 + begin,
                               "dur": end - begin, "args": {"step": 7, "model_chunk": 0, "mb_id": mb, "seq_id": mb}})
            transfer = "forward-send" if pp == 0 else "forward-recv"
            for mb in range(2):
                events.append({"ph": "X", "name": transfer, "cat": transfer, "pid": dp, "tid": tid + 1,
                               "ts": 110.5 + 10 * mb, "dur": 0.25,
                               "args": {"step": 7, "model_chunk": -1, "mb_id": -1, "seq_id": mb}})
    write("bytedance_two_replicas.json", "[" + lines(events) + "]\n")


def paddle_job_log():
    """Milliseconds since 1970; the number of a job is its micro-batch. Worker 1's last line is cut off."""
    for rank in range(2):
        text = "Schedule Profiler start at step 15 and end at step 16\n"
        for kind, mb, begin, end in STEP[rank]:
            name = {"F": "forward", "B": "backward"}[kind]
            text += (f"I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job ({mb}), type = {name}, "
                     f"micro_batch_id = {mb}, job_start_time = {1697793307213 + begin / 1000:.6f}, "
                     f"job_end_time = {1697793307213 + end / 1000:.6f}\n")
        if rank == 1:
            text += "I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job (1), type = optim"
        write(f"paddle_job_log/workerlog.{rank}", text)


def paddle_job_chrome():
    events = []
    for rank in range(2):
        for kind, mb, begin, end in STEP[rank]:
            name = {"F": "forward", "B": "backward"}[kind]
            for phase, time in (("B", begin), ("E", end)):
                events.append({"name": f"{name}_{mb}", "cat": name, "ph": phase, "ts": 1697793307213000.0 + time, "pid": 0,
                               "tid": f"GPU{rank}", "cname": "thread_state_running"})
    for phase, time in (("B", 0), ("E", 90)):
        events.append({"name": "step0", "cat": "step", "ph": phase, "ts": 1697793307213000.0 + time, "pid": 0, "tid": "Step"})
    write("paddle_jobs_of_both_ranks.json", '{"traceEvents": [\n' + lines(events) + "]}\n")


def paddle_dynamic():
    """Whole milliseconds where microseconds belong, one event a line, a file for each rank."""
    for rank in range(2):
        text = ""
        for kind, mb, begin, end in STEP[rank]:
            for phase, time in (("B", begin), ("E", end)):
                text += json.dumps({"name": f"{kind}{mb}", "cat": "pipeline timeline", "ph": phase, "pid": 0,
                                    "tid": rank + 1, "ts": 1700000000000 + time, "cname": "thread_state_running"}) + "\n"
        write(f"paddle_dynamic_milliseconds/profile_record_tmp_file_for_rank_{rank}", text)


def paddle_profiler():
    """Starts cut to whole microseconds, the exact ones in an arg, durations in names, an empty object at the end."""
    for rank in range(2):
        events = [{"name": "process_name", "pid": 4242 + rank, "tid": "", "ph": "M", "ts": 1,
                   "args": {"name": f"Process {4242 + rank} (CPU)"}}]
        for number, (kind, mb, begin, end) in enumerate(STEP[rank]):
            name = {"F": "forward0", "B": "backward0"}[kind]
            exact = 100 + begin + 0.4 + number / 10
            events.append({"name": f"{name}-{mb}[{float(end - begin):.3f} us]", "pid": 4242 + rank,
                           "tid": f"{4242 + rank}(C++)", "ts": int(exact), "dur": float(end - begin), "ph": "X",
                           "cat": "UserDefined",
                           "args": {"start_time": f"{exact:.3f} us", "end_time": f"{exact + end - begin:.3f} us"}})
        write(f"paddle_profiler/host_apid_{rank}_time_2024_05_06_07_08_09_010.paddle_trace.json",
              '{"displayTimeUnit": "ms", "schemaVersion": "1.0.2", "span_indx": "0", "traceEvents": [\n' + lines(events) +
              ",\n{}\n]}\n")


def torchtitan():
    """The layout of torchtitan's profiles; annotations of a schedule's actions. Ranks are in the files' names alone."""
    for rank in range(2):
        events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 50 + rank, "tid": 50 + rank,
                   "ts": 1000, "dur": 100}]
        for kind, mb, begin, end in STEP[rank]:
            events.append({"ph": "X", "cat": "user_annotation", "name": f"PP:{rank}{kind}{mb}", "pid": 50 + rank,
                           "tid": 50 + rank, "ts": 1000 + begin, "dur": end - begin})
        write(f"torchtitan_layout/profiling/traces/iteration_4/rank{rank}_trace.json",
              '{"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [\n' + lines(events) + "]}\n")


def hta():
    """The layout that HTA wants: any names, ranks in the files. A file that is no trace lies beside them. Actions run on
    a GPU: rank 0 launches each with a graph whose three kernels share a correlation."""
    for rank in range(2):
        events = []
        for number, (kind, mb, begin, end) in enumerate(STEP[rank]):
            id = 10 * rank + number + 1
            events.append({"ph": "X", "cat": "user_annotation", "name": f"PP:{rank}{kind}{mb}", "pid": 60, "tid": 60,
                           "ts": 2000 + 2 * number, "dur": 1.5})
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 60, "tid": 60,
                           "ts": 2000.5 + 2 * number, "dur": 0.5, "args": {"correlation": id}})
            third = (end - begin) / 3
            for part in range(3):
                from_ = 2010 + begin + part * third
                events.append({"ph": "X", "cat": "kernel", "name": f"gemm_{part}", "pid": 0, "tid": 7, "ts": round(from_, 3),
                               "dur": round(2010 + begin + (part + 1) * third, 3) - round(from_, 3) if part < 2
                               else round(2010 + end - from_, 3),
                               "args": {"correlation": id, "graph node id": part, "graph id": 1}})
        for event in events:
            event["dur"] = round(event["dur"], 3)
        write(f"kineto_cuda_graphs/{'ab'[rank]}.json",
              '{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 2},\n"traceEvents": [\n'
              % rank + lines(events) + "]}\n")
    write("kineto_cuda_graphs/settings.txt", "not a trace\n")


def torch_dump():
    """_dump_chrometrace() of a zero-bubble schedule: one unit an action."""
    orders = [["0F0", "0F1", None, "0I0", "0W0", "0I1", "0W1"], [None, "1F0", "1I0", "1F1", "1I1", "1W0", "1W1"]]
    events = []
    for rank, order in enumerate(orders):
        for time, action in enumerate(order):
            if action is None:
                continue
            category = "computation" if action[1] in "FBW" else "communication"
            events.append({"name": action, "cat": category, "ph": "X", "pid": rank, "tid": rank, "ts": time, "dur": 1})
    write("torch_dump_chrometrace.json", '{"traceEvents": [' + lines(events) + "]}\n")


def nsys():
    """A zero-bubble step as Sail's runtime marks it: ranges on the host, where each only launches a kernel. Two
    processes in one export; ids of processes and threads are packed as 2^24 * process + thread."""
    orders = [["F0", "F1", None, "B0", "W0", "B1", "W1", "Optimizer"],
              [None, "F0", "B0", "F1", "B1", "W0", "W1", "Optimizer"]]
    kernels, calls, ranges = [], [], []
    for rank, order in enumerate(orders):
        process = (5 + rank) << 24
        for slot, name in enumerate(order):
            if name is None:
                continue
            host = 1000 + 400 * slot
            kernels.append(f"({5000 + 10000 * slot}, {15000 + 10000 * slot}, {rank}, 1, 7, {slot + 1}, {process}, 2, 2)")
            calls.append(f"({host + 100}, {host + 200}, {process + 9}, {slot + 1}, 1)")
            ranges.append(f"({host}, {host + 300}, 59, {process + 9}, '{name}')")
    write("nsys_zero_bubble.sql", f"""-- made by make_pipelines.py
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630000000000000);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  {", ".join(kernels)};
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
  {", ".join(calls)};
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, text TEXT);
INSERT INTO NVTX_EVENTS VALUES
  {", ".join(ranges)};
""")


if __name__ == "__main__":
    for make in (nsys, bytedance, paddle_job_log, paddle_job_chrome, paddle_dynamic, paddle_profiler, torchtitan, hta, torch_dump):
        make()
