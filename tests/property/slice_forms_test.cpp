// Orders on slices of sequences and MaxText's circular pipeline: the lists against the rules of the programs that they
// come from, written down once more, and the published bubbles against simulation.

#include "core/graph/validate.h"
#include "core/theory/closed_form.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <stack>
#include <vector>

namespace bubblescope {
namespace {

using test::checkForm;
using test::FormCheck;
using test::kRatios;
using test::Ratio;
using test::wholeTimes;

struct Sizes {
    int p;
    int m;
    int v;
    int k;
};

ScheduleSpec specOf(const char* family, const Sizes& size) {
    ScheduleSpec spec{family, "", size.p, size.m, size.v};
    spec.sequence_slices = size.k;
    return spec;
}

/// All sizes that a family may accept.
template <class Visit>
void eachSize(int most_ranks, Visit visit) {
    for (int p = 1; p <= most_ranks; ++p)
        for (int m = 1; m <= 2 * p + 3; ++m)
            for (int v = 1; v <= 3; ++v)
                for (int k = 1; k <= 5; ++k)
                    visit(Sizes{p, m, v, k});
}

/// MindSpore's list of one rank (seqpipe_scheduler.cc): forwards in cycles; a backward takes the micro-batch of the
/// oldest forward, and the newest chunk and slice of that micro-batch.
std::vector<Op> mindSporeList(const Sizes& size, const std::vector<int>& cycles, int warmup) {
    std::vector<Op> ops;
    std::queue<int> microbatches;
    std::vector<std::stack<Op>> of_microbatch(static_cast<std::size_t>(size.m));
    const int blocks = size.m * size.v * size.k;
    const auto backward = [&] {
        auto& stack = of_microbatch[static_cast<std::size_t>(microbatches.front())];
        microbatches.pop();
        ops.push_back(stack.top());
        ops.back().kind = OpKind::Backward;
        stack.pop();
    };
    int index = 0;
    int first = 0;
    for (const int cycle : cycles) {
        for (int unit = 0; unit < cycle * size.v * size.k; ++unit, ++index) {
            const int microbatch = first + unit % (cycle * size.k) / size.k;
            ops.push_back({OpKind::Forward, Microbatch{microbatch}, Chunk{unit / (cycle * size.k)}, unit % size.k});
            microbatches.push(microbatch);
            of_microbatch[static_cast<std::size_t>(microbatch)].push(ops.back());
            if (index >= std::min(warmup, blocks - 1)) backward();
        }
        first += cycle;
    }
    while (!microbatches.empty())
        backward();
    return ops;
}

/// m div `length` cycles of `length` micro-batches; the rest one by one to the cycles from the first on.
std::vector<int> cyclesOf(int length, int m) {
    if (m < length) return {m};
    std::vector<int> cycles(static_cast<std::size_t>(m / length), length);
    for (std::size_t rest = 0; rest < static_cast<std::size_t>(m % length); ++rest)
        ++cycles[rest % cycles.size()];
    return cycles;
}

TEST(SliceOrders, EqualMindSporesScheduler) {
    int compared = 0;
    for (const char* const family : {"seqpipe", "seqvpp", "seqsmartvpp"}) {
        const bool smart = family == std::string_view("seqsmartvpp");
        eachSize(6, [&](const Sizes& size) {
            const auto made = makeSchedule(specOf(family, size));
            if (!made.ok()) return;
            const auto cycles = cyclesOf(family == std::string_view("seqpipe") ? size.p : size.p / size.k, size.m);
            const int bias = size.v == 1 || smart ? 1 : 2;
            for (int s = 0; s < size.p; ++s) {
                const int warmup = (size.p - 1 - s) * bias + (size.v - 1) * cycles.front() * size.k + size.k - 1;
                EXPECT_EQ(made.value().ranks[Rank{s}.index()], mindSporeList(size, cycles, warmup))
                    << family << ' ' << size.p << ' ' << size.m << ' ' << size.v << ' ' << size.k << " rank " << s;
            }
            EXPECT_TRUE(validate(made.value()).empty()) << family << ' ' << size.p << ' ' << size.m << ' ' << size.v;
            ++compared;
        });
    }
    EXPECT_GT(compared, 800);
}

/// thunlp/Seq1F1B with several chunks: (v−1)p + 2(p−1−s) + n−1 warm-up slices in groups of p slices per chunk, which is
/// SeqVPP's order; all forwards first if m = p.
TEST(SliceOrders, Seq1F1BInterleavedTakesGroupsOfRanksSlices) {
    for (int p = 1; p <= 8; ++p) {
        for (int k = 1; k <= p; ++k) {
            for (const int groups : {1, 2, 3}) {
                for (const int v : {2, 3}) {
                    const Sizes size{p, groups * p, v, k};
                    const auto made = makeSchedule(specOf("seq1f1b", size));
                    ASSERT_EQ(made.ok(), p % k == 0) << p << ' ' << k;
                    if (!made.ok()) continue;
                    const int all = size.m * v * k;
                    for (int s = 0; s < p; ++s) {
                        const int warmup = groups == 1 ? all - 1 : (v - 1) * p + 2 * (p - 1 - s) + k - 1;
                        EXPECT_EQ(made.value().ranks[Rank{s}.index()],
                                  mindSporeList(size, cyclesOf(p / k, size.m), warmup));
                    }
                }
            }
        }
    }
}

/// MaxText's loop: in iteration i, stage s runs micro-batch max(i−s, 0) mod m of repeat max(i−s, 0) div m; outside of
/// its m·repeats iterations it computes a bubble.
TEST(CircularOrder, EqualsMaxTextsLoop) {
    for (const auto& [p, m, v] : {std::tuple(1, 3, 2), {2, 4, 3}, {4, 8, 2}, {3, 3, 4}, {4, 12, 1}}) {
        const Schedule schedule = makeSchedule({"circular", "", p, m, v}).value();
        for (int s = 0; s < p; ++s) {
            std::vector<Op> forwards;
            for (int i = s; i < m * v + s; ++i)
                forwards.push_back({OpKind::Forward, Microbatch{(i - s) % m}, Chunk{(i - s) / m}});
            std::vector<Op> ops = forwards;
            for (auto op = forwards.rbegin(); op != forwards.rend(); ++op) // automatic differentiation
                ops.push_back({OpKind::Backward, op->microbatch, op->chunk});
            EXPECT_EQ(schedule.ranks[Rank{s}.index()], ops);
        }
    }
}

/// MaxText's documentation: a bubble of (p−1)/(repeats·m+p−1) of the step; twice the bubble where an output reaches the
/// next stage an iteration late, for m ≥ 2p.
TEST(CircularOrder, HasMaxTextsBubble) {
    for (int p = 1; p <= 8; ++p) {
        for (const int m : {p, 2 * p, 5 * p}) {
            for (int v = 1; v <= 4; ++v) {
                const Schedule schedule = makeSchedule({"circular", "", p, m, v}).value();
                for (const Ratio ratio : kRatios) {
                    CostModel costs;
                    costs.times = wholeTimes(ratio);
                    EXPECT_EQ(checkForm(schedule, costs).kind, FormKind::Exact);
                    const ClosedForm form = closedForm(schedule, costs).value();
                    EXPECT_DOUBLE_EQ(form.bubble_rate, (p - 1.0) / (v * m + p - 1.0));
                    test::checkQuotes(schedule, costs);
                }
                CostModel late;
                late.times = wholeTimes({3, 3});
                late.comm = TimeNs{3};
                const ClosedForm form = closedForm(schedule, late).value();
                test::checkQuotes(schedule, late);
                if (v == 1 || m >= 2 * p) {
                    EXPECT_DOUBLE_EQ(form.bubble_rate, 2 * (p - 1.0) / (v * m + 2 * (p - 1.0)));
                }
            }
        }
    }
}

/// The bubble is (p−1)(t_f+t_b) of a slice of a chunk wherever every group has p slices; with fewer in a single group,
/// each of the v−1 wraps loses those that are missing. Elsewhere there is a bound.
TEST(SliceForms, EqualSimulation) {
    int compared = 0;
    int bounds = 0;
    for (const char* const family : {"seq1f1b", "seqpipe", "seqvpp", "seqsmartvpp"}) {
        eachSize(8, [&](const Sizes& size) {
            const auto made = makeSchedule(specOf(family, size));
            if (!made.ok()) return;
            const int length = family == std::string_view("seqpipe") ? size.p : size.p / size.k;
            const auto cycles = cyclesOf(std::max(1, length), size.m);
            const int missing = std::max(0, size.p - std::ranges::min(cycles) * size.k);
            const bool exact = size.v == 1 || missing == 0 || cycles.size() == 1;
            for (const Ratio ratio : kRatios) {
                CostModel costs;
                costs.times = wholeTimes(ratio);
                const FormCheck check = checkForm(made.value(), costs);
                EXPECT_EQ(check.kind == FormKind::Exact, exact || size.p == 1)
                    << family << ' ' << size.p << ' ' << size.m << ' ' << size.v << ' ' << size.k;
                compared += check.compared;
                bounds += check.kind == FormKind::Exact ? 0 : 1;
                if (missing > 0 && size.v > 1) continue;
                const TimeNs bubble = (size.p - 1) * (costs.times.forward + costs.times.backward);
                EXPECT_EQ(closedForm(made.value(), costs).value().bubble.front(), bubble) << family;
            }
        });
    }
    test::reportCompared(compared);
    EXPECT_GT(compared, 20'000);
    EXPECT_GT(bounds, 0);
}

TEST(SliceLimits, RefusalsSayWhatToGive) {
    const std::pair<ScheduleSpec, const char*> cases[] = {
        {specOf("seq1f1b", {4, 6, 2, 2}), "use 4 or 8"},
        {specOf("seq1f1b", {4, 8, 2, 3}), "sequence_slices"},
        {specOf("seqvpp", {4, 8, 1, 2}), "vpp=2"},
        {specOf("seqvpp", {4, 8, 2, 5}), "reduce sequence_slices"},
        {specOf("seqvpp", {5, 8, 2, 3}), "divides 5 or 4"},
        {specOf("seqvpp", {4, 1, 2, 2}), "microbatches=2 or more"},
        {specOf("seqsmartvpp", {5, 8, 2, 2}), "even number of ranks"},
        {specOf("seqpipe", {4, 8, 2, 0}), "sequence slices"},
        {specOf("seqpipe", {64, 100'000, 4, 4096}), "200 million"},
        {{"circular", "", 4, 6, 2}, "use 4 or 8"},
    };
    for (const auto& [spec, text] : cases) {
        const auto schedule = makeSchedule(spec);
        ASSERT_FALSE(schedule.ok()) << spec.name;
        EXPECT_EQ(schedule.error().kind, ErrorKind::Usage);
        EXPECT_NE(schedule.error().text().find(text), std::string::npos) << schedule.error().text();
    }
}

} // namespace
} // namespace bubblescope
