"""Traces of many small steps, made of a simulated one."""

import json
import random

NOISE = 50  # ns by which ops are shorter than simulated, at most: no two steps are alike


def repeat_ops(one, steps, out):
    """Repeats the ops of a trace of one step, as `simulate --out one.json` writes it, one step after another. Returns the
    number of ops."""
    with open(one) as file:
        lines = [line.rstrip().rstrip(",") for line in file][1:-1]
    head = [line for line in lines if '"ph":"M"' in line or '"ph":"i"' in line]
    ops = []
    end = 0
    for line in lines:
        if '"cat":"op"' not in line:
            continue
        event = json.loads(line)
        start, duration = round(event["ts"] * 1000), round(event["dur"] * 1000)
        end = max(end, start + duration)
        before, args = line[: line.index('"ts":')], line[line.index(',"args"') :]
        args, behind = args.split('"step":0')
        ops.append((before, start, duration, args, behind))
    period = end + 100_000
    noise = random.Random(7).random
    with open(out, "w") as file:
        file.write("[\n" + ",\n".join(head))
        for step in range(steps):
            for before, start, duration, args, behind in ops:
                at = step * period + start
                took = duration - int((NOISE + 1) * noise())
                file.write(
                    f',\n{before}"ts":{at // 1000}.{at % 1000:03d},"dur":{took // 1000}.{took % 1000:03d}'
                    f'{args}"step":{step}{behind}'
                )
        file.write("\n]\n")
    return steps * len(ops)
