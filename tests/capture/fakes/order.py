# The order that a fake program runs, as printed by `bubblescope schedule --json`.
import json
import os


def calls(rank):
    """[(kind, micro-batch, chunk)] of a rank, where a pair is one entry with both halves."""
    with open(os.environ["FAKE_ORDER"]) as file:
        ops = json.load(file)["ranks"][rank]
    merged = []
    for op in ops:
        kind, microbatch, chunk = op[:3]
        if op[3:] == ["o"] and kind == "B":
            merged[-1] += ((kind, microbatch, chunk),)
        else:
            merged.append(((kind, microbatch, chunk),))
    return merged
