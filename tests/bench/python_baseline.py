"""The same work as bench_schedules in plain Python: orders generated and simulated the way people write such
scripts, with lists, tuples and dictionaries. report.py compares it with the C++ program.

An order is one list per rank of (kind, micro-batch, chunk); kinds F, B, I, W as on the command line.
"""


def one_f_one_b(p, m):
    order = []
    for s in range(p):
        warmup = min(m, p - s - 1)
        ops = [("F", k, 0) for k in range(warmup)]
        for k in range(m - warmup):
            ops += [("F", warmup + k, 0), ("B", k, 0)]
        ops += [("B", k, 0) for k in range(m - warmup, m)]
        order.append(ops)
    return order


def interleaved(p, m, v):
    """Groups of p; m must be a multiple of p."""
    units = [
        (first + i, chunk)
        for first in range(0, m, p)
        for chunk in range(v)
        for i in range(p)
    ]
    forwards = [("F", k, chunk) for k, chunk in units]
    backwards = [("B", k, v - 1 - chunk) for k, chunk in units]
    order = []
    for s in range(p):
        warmup = min(m * v, 2 * (p - s - 1) + (v - 1) * p)
        ops = forwards[:warmup]
        for k in range(m * v - warmup):
            ops += [forwards[warmup + k], backwards[k]]
        ops += backwards[m * v - warmup :]
        order.append(ops)
    return order


class ZbVRun:
    """One greedy run over all ranks: see core/families/zb_v_greedy.cpp."""

    def __init__(self, p, m, times, limit, fill_forward, fill_input_1, before):
        self.p, self.m, self.times, self.limit = p, m, times, limit
        self.fill_forward, self.fill_input_1 = fill_forward, fill_input_1
        self.ops = [[] for _ in range(p)]
        self.done = [{"F": [0, 0], "I": [0, 0], "W": [0, 0]} for _ in range(p)]
        self.queue = [[] for _ in range(p)]  # chunks whose weight gradients are owed
        self.ends = {}
        self.now = [0] * p
        self.bubble = [0] * p
        self.held = [0] * p  # halves of activations
        self.worst = 0
        self.give_up = before.worst if before else float("inf")
        self.allowance = [before.worst - b for b in before.bubble] if before else [0] * p
        self.going = True

    def arrival(self, kind, chunk, r):
        source = r - 1 if (kind == "F") == (chunk == 0) else r + 1
        if not 0 <= source < self.p:
            return None
        return self.ends[(kind, chunk, source, self.done[r][kind][chunk])]

    def put(self, kind, chunk, r):
        if kind == "F" and self.held[r] + 2 > self.limit:
            self.going = False
        if not self.going:
            return
        k = self.done[r][kind][chunk]
        arrival = self.arrival(kind, chunk, r)
        start = self.now[r] if arrival is None else max(self.now[r], arrival)
        if self.done[r]["F"][0] > 0:
            self.bubble[r] += start - self.now[r]
        self.worst = max(self.worst, self.bubble[r])
        if self.worst >= self.give_up:
            self.going = False
        self.now[r] = start + self.times[kind]
        self.ends[(kind, chunk, r, k)] = self.now[r]
        self.held[r] += 2 if kind == "F" else -1
        self.ops[r].append((kind, k, chunk))
        if kind == "I":
            self.queue[r].append(chunk)
        self.done[r][kind][chunk] += 1

    def put_weight(self, r):
        chunk = self.queue[r].pop(0)
        self.now[r] += self.times["W"]
        self.held[r] -= 1
        self.ops[r].append(("W", self.done[r]["W"][chunk], chunk))
        self.done[r]["W"][chunk] += 1

    def fill_gap(self, kind, chunk, r, short_too):
        ready = self.arrival(kind, chunk, r)
        if ready is None:
            return
        while self.queue[r] and ready >= self.now[r] + self.times["W"]:
            self.put_weight(r)
        may_idle = max(self.worst, self.allowance[r]) - self.bubble[r]
        if short_too and self.queue[r] and ready - self.now[r] > may_idle:
            self.put_weight(r)

    def warm_up(self):
        p, m = self.p, self.m
        for r in range(p):
            self.put("F", 0, r)
        for r in reversed(range(p)):
            back = self.arrival("F", 1, r) if self.going else 0
            while (
                r < p - 1
                and self.going
                and self.held[r] + 2 * (2 + 2 * r) <= self.limit
                and self.now[r] + self.times["F"] <= back
                and self.done[r]["F"][0] < m
            ):
                for front in range(r + 1):
                    self.put("F", 0, front)
            if self.going:
                self.put("F", 1, r)
        chunk = 0
        for r in range(1, p):
            while self.going:
                inner, outer = self.done[r]["F"], self.done[r - 1]["F"]
                if not (sum(inner) < sum(outer) or (inner[1] <= outer[1] and outer[1] < m)):
                    break
                for front in reversed(range(r, p)):
                    if self.done[front]["F"][chunk] < m:
                        self.put("F", chunk, front)
                chunk = 1 - chunk

    def takes_chunk_0(self, r):
        done = self.done[r]["I"]
        if done[1] <= done[0]:
            return False
        return r == self.p - 1 or done[1] >= self.m or ("I", 0, r + 1, done[0]) in self.ends

    def input_gradients(self):
        chunk_0 = [r for r in range(self.p) if self.takes_chunk_0(r)]
        for r in reversed(chunk_0):
            self.fill_gap("I", 0, r, True)
            self.put("I", 0, r)
        for r in range(self.p):
            if self.going and r not in chunk_0:
                self.fill_gap("I", 1, r, self.fill_input_1)
                self.put("I", 1, r)

    def next_forward(self, r):
        done = self.done[r]["F"]
        if done[1] >= self.m:
            return None
        if done[1] >= done[0]:
            return 0
        if r == self.p - 1 or ("F", 1, r + 1, done[1]) in self.ends:
            return 1
        if done[0] < self.m and (r == 0 or ("F", 0, r - 1, done[0]) in self.ends):
            return 0
        return None

    def forwards(self):
        for r in range(self.p):
            chunk = self.next_forward(r) if self.going else None
            if chunk is None:
                continue
            while self.held[r] + 2 > self.limit and self.queue[r]:
                self.put_weight(r)
            self.fill_gap("F", chunk, r, self.fill_forward)
            self.put("F", chunk, r)

    def play(self):
        self.warm_up()
        for _ in range(2 * self.m):
            if self.going:
                self.input_gradients()
            if self.going:
                self.forwards()
        if not self.going:
            return None
        for r in range(self.p):
            while self.queue[r]:
                self.put_weight(r)
        return self


def zb_v(p, m, times):
    best = None
    for fill_input in (True, False):
        for fill_forward in (True, False):
            def play(before):
                return ZbVRun(p, m, times, 4 * p, fill_forward, fill_input, before).play()

            run = play(None)
            while run and run.worst > 0:
                better = play(run)
                if better is None:
                    break
                run = better
            if run and (best is None or run.worst < best.worst):
                best = run
            if best and best.worst == 0:
                return best.ops
    return best.ops


class SlotTable:
    """Ranks by slots of one unit: see core/families/slot_table.cpp. A pass is F0, F1, I1, I0 or W."""

    PASSES = ("F0", "F1", "I1", "I0")

    def __init__(self, blocks, m):
        self.m, self.p = m, len(blocks)
        self.slots, self.at = [], []
        for block in blocks:
            row = [None] * (max(block) + 6 * (m - 1) + 1)
            at = {}
            for name, first in zip(self.PASSES, block):
                at[name] = [first + 6 * k for k in range(m)]
                for slot in at[name]:
                    row[slot] = name
            self.slots.append(row)
            self.at.append(at)
        self.weights_placed = False

    def sweep(self):
        """(rank, pass, micro-batch, slot) by slot; the table may change in between."""
        seen = [dict.fromkeys(self.PASSES + ("W",), 0) for _ in range(self.p)]
        self.seen = seen
        for t in range(max(map(len, self.slots))):
            for r in range(self.p):
                if t < len(self.slots[r]) and self.slots[r][t] is not None:
                    name = self.slots[r][t]
                    k = seen[r][name]
                    seen[r][name] += 1
                    yield r, name, k, t

    def add_weights(self):
        self.weights_placed = True
        for row in self.slots:
            pending = 0
            for t, name in enumerate(row):
                if name in ("I0", "I1"):
                    pending += 1
                elif name is None and pending > 0:
                    row[t] = "W"
                    pending -= 1
            row += ["W"] * pending

    def remove_weights(self):
        self.weights_placed = False
        for row in self.slots:
            row[:] = [None if name == "W" else name for name in row]

    def ready(self, r, name, k):
        source = r - 1 if name in ("F0", "I1") else r + 1
        slot = self.at[source][name][k] if 0 <= source < self.p else -1
        if name != "F0":
            slot = max(slot, self.at[r][self.PASSES[self.PASSES.index(name) - 1]][k])
        return max(slot, self.at[r][name][k - 1]) if k > 0 else slot

    def fits(self, r, start, until):
        row, memory = self.slots[r], self.memory[r]
        held, pending = memory[start - 1] if start > 0 else (0, 0)
        for t in range(start, len(row)):
            name = row[t]
            if name in ("F0", "F1"):
                held += 1
            elif name == "W":
                held -= 1
            elif name is not None and not self.weights_placed:
                pending += 1
            elif name is None and pending > 0:
                pending -= 1
                held -= 1
            if held > self.limit:
                return False
            if t >= until and memory[t] == (held, pending):
                break
            memory[t] = (held, pending)
        return True

    def weight_ready(self, r):
        slot, grads = self.last_weight[r], self.grads_before[r]
        while grads < self.seen[r]["W"]:
            slot += 1
            if self.slots[r][slot] in ("I0", "I1"):
                grads += 1
        return slot

    def met_weight(self, r, slot):
        while self.last_weight[r] < slot:
            self.last_weight[r] += 1
            if self.slots[r][self.last_weight[r]] in ("I0", "I1"):
                self.grads_before[r] += 1

    def move_up(self, tail_only):
        self.limit = float("inf")
        self.memory = [[None] * len(row) for row in self.slots]
        self.last_weight, self.grads_before = [-1] * self.p, [0] * self.p
        for r in range(self.p):
            self.fits(r, 0, len(self.slots[r]))
        self.limit = max(held for row in self.memory for held, _ in row)
        phase = "warm-up"
        for r, name, k, slot in self.sweep():
            if phase == "warm-up" and r == 0 and name == "I0":
                phase = "steady"
            fixed = phase == "steady" or (tail_only and phase == "warm-up")
            if phase == "steady" and name == "F0" and k == self.m - 1:
                phase = "tail"
            if fixed:
                if name == "W":
                    self.met_weight(r, slot)
                continue
            row = self.slots[r]
            to = 1 + (self.weight_ready(r) if name == "W" else self.ready(r, name, k))
            while to < slot:
                if row[to] is None:
                    row[to], row[slot] = name, None
                    if self.fits(r, to, slot):
                        break
                    row[to], row[slot] = None, name
                    self.fits(r, to, slot)
                to += 1
            to = min(to, slot)
            if name == "W":
                self.met_weight(r, to)
            else:
                self.at[r][name][k] = to
                if name in ("I0", "I1") and to <= self.last_weight[r]:
                    self.grads_before[r] += 1

    def squeeze(self):
        squeezed = [[] for _ in range(self.p)]
        for r, name, k, _ in self.sweep():
            row = squeezed[r]
            if name != "W":
                row += [None] * (self.ready(r, name, k) + 1 - len(row))
                self.at[r][name][k] = len(row)
            row.append(name)
        self.slots = squeezed

    def order(self):
        order = []
        for row in self.slots:
            ops, done, pending, weights = [], dict.fromkeys(self.PASSES, 0), [0, 0], [0, 0]

            def weight():
                chunk = 1 if pending[1] else 0
                if pending[chunk] == 0:
                    return False
                pending[chunk] -= 1
                ops.append(("W", weights[chunk], chunk))
                weights[chunk] += 1
                return True

            for name in row:
                if name is None:
                    weight()
                    continue
                ops.append((name[0], done[name], int(name[1])))
                done[name] += 1
                if name[0] == "I":
                    pending[int(name[1])] += 1
            while weight():
                pass
            order.append(ops)
        return order


def v_half(p, m):
    k = 3 if p % 2 == 0 else 0
    table = SlotTable([(2 * s, 3 * p - 2 - s, 3 * p - 1 + k + 2 * s, 6 * p - 2 + k - s) for s in range(p)], m)
    table.add_weights()
    table.move_up(tail_only=False)
    table.squeeze()
    table.remove_weights()
    table.move_up(tail_only=True)
    table.add_weights()
    table.squeeze()
    table.remove_weights()
    return table.order()


def stage_of(p, rank, chunk, v_shaped):
    return chunk * p + (p - 1 - rank if v_shaped and chunk % 2 else rank)


def simulate(order, v, times, v_shaped=False):
    """Start and end of every op: each rank runs its list in order, an op waits for its producer."""
    p = len(order)
    last = p * v - 1
    ends = {}
    free = [0] * p
    at = [0] * p
    timeline = [[] for _ in range(p)]
    left = sum(len(ops) for ops in order)
    while left > 0:
        before = left
        for r in range(p):
            while at[r] < len(order[r]):
                kind, k, chunk = order[r][at[r]]
                stage = stage_of(p, r, chunk, v_shaped)
                needs = None
                if kind == "F" and stage > 0:
                    needs = ("F", k, stage - 1)
                elif kind in "BI":
                    needs = ("G", k, stage + 1) if stage < last else ("F", k, stage)
                if needs is not None and needs not in ends:
                    break
                start = free[r] if needs is None else max(free[r], ends[needs])
                free[r] = start + times[kind]
                if kind != "W":
                    ends[("F" if kind == "F" else "G", k, stage)] = free[r]
                timeline[r].append((kind, k, chunk, start, free[r]))
                at[r] += 1
                left -= 1
        if left == before:
            raise ValueError("the order deadlocks")
    return timeline
