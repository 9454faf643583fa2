// STP's orders against those of the authors' program (MICLAB-BUPT/STP), op by op, and the figures of the paper
// (arXiv 2510.27257).

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/theory/closed_form.h"
#include "tests/support/oracles.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <string>

namespace bubblescope {
namespace {

using test::Json;

/// The lists of the oracle name a weight gradient only as the oldest that waits.
class StpList {
public:
    std::vector<Op> read(const Json& entries) {
        for (const Json& entry : entries)
            readEntry(entry);
        return std::move(ops_);
    }

private:
    void readEntry(const Json& entry) {
        const auto kind = entry.at(0).get<std::string>();
        if (kind == "W") return weight(false);
        const int chunk = entry.at(1).get<int>();
        const int first = entry.at(2).get<int>();
        const bool pair = kind.size() == 2;
        add(kind[0], first, chunk, pair);
        if (!pair) return;
        if (kind[1] == 'W') return weight(true);
        add(kind[1], entry.at(3).get<int>(), chunk, true);
    }

    void add(char letter, int microbatch, int chunk, bool pair) {
        ops_.push_back({*opKindFromLetter(letter), Microbatch{microbatch}, Chunk{chunk}, 0, pair});
        if (letter == 'I') waiting_.push_back(ops_.back());
    }

    void weight(bool pair) {
        Op op = waiting_.front();
        waiting_.pop_front();
        op.kind = OpKind::BackwardWeight;
        op.overlapped = pair;
        ops_.push_back(op);
    }

    std::vector<Op> ops_;
    std::deque<Op> waiting_;
};

TEST(StpOrdersOutside, EqualTheAuthorsProgram) {
    const auto folder = test::sharedDir() / "oracles" / "stp";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs oracles/stp";
    int compared = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(file.path());
        const Json document = Json::parse(in);
        for (const Json& one : document.at("cases")) {
            const int p = one.at("params").at("pp").get<int>();
            const int m = one.at("params").at("microbatches").get<int>();
            const auto schedule = makeSchedule({"stp", "", p, m, 2});
            ASSERT_TRUE(schedule.ok()) << schedule.error().text();
            for (int s = 0; s < p; ++s) {
                EXPECT_EQ(schedule.value().ranks[Rank{s}.index()], StpList().read(one.at("ranks").at(Rank{s}.index())))
                    << p << ' ' << m << " rank " << s;
            }
            ++compared;
        }
    }
    EXPECT_GE(compared, 8);
}

/// Op times as the paper counts them: those of an op in a pair, and the all-reduce that shows when it runs alone.
CostModel paperCosts(int forward, int input_grad, int weight_grad, int all_reduce) {
    CostModel costs;
    costs.all_reduce = TimeNs{all_reduce};
    costs.times.forward = TimeNs{forward} + costs.all_reduce;
    costs.times.input_grad = TimeNs{input_grad} + costs.all_reduce;
    costs.times.weight_grad = TimeNs{weight_grad};
    costs.times.backward = TimeNs{input_grad + weight_grad};
    return costs;
}

struct Loss {
    std::int64_t idle = 0;  ///< of the rank that idles most
    std::int64_t total = 0; ///< of the makespan, beyond the ops without their all-reduces
};

Loss lossOf(const ScheduleSpec& spec, const CostModel& costs) {
    const StepTimeline step = simulate(makeSchedule(spec).value(), costs).value();
    const TimeNs work = costs.times.forward - costs.all_reduce + costs.times.backward;
    Loss loss;
    loss.total = (step.wall() - std::int64_t{spec.microbatches} * 2 * work).count();
    for (const auto& ops : step.ranks) {
        TimeNs busy{0};
        for (std::size_t i = 0; i < ops.size(); ++i) {
            busy += ops[i].duration();
            if (ops[i].op.overlapped) ++i;
        }
        loss.idle = std::max(loss.idle, (step.wall() - busy).count());
    }
    return loss;
}

/// The paper's table: a pipeline bubble of (p−1)(T_F+T_AR+T_B−T_W) and exposed all-reduces of (2p+1)·T_AR. Both are the
/// largest of all ranks. They occur on one rank, and add up, if p is odd and T_F ≤ T_W ≤ T_B ≤ T_F+T_AR.
TEST(StpPaper, BubbleAndExposedAllReduces) {
    for (int p = 1; p <= 9; ++p) {
        for (const int m : {3 * p - 1, 3 * p, 4 * p + 1}) {
            if (m < 2) continue;
            for (const int t_ar : {0, 1, 4, 13}) {
                for (const auto& [f, i, w] : {std::tuple(10, 10, 10), std::tuple(9, 11, 10), std::tuple(8, 9, 8)}) {
                    const bool within = f <= w && w <= i && i <= f + t_ar;
                    const std::int64_t paper = (p - 1) * (f + t_ar + i - w) + (2 * p + 1) * t_ar;
                    const Loss loss = lossOf({"stp", "", p, m, 2}, paperCosts(f, i, w, t_ar));
                    if (p % 2 == 1 && within) {
                        EXPECT_EQ(loss.total, paper) << p << ' ' << m << ' ' << t_ar;
                    }
                    if (f == i && i == w) {
                        EXPECT_EQ(loss.total, paper - (p % 2 == 0 ? t_ar : 0)) << p << ' ' << m << ' ' << t_ar;
                    }
                    if (f == i && i == w && p % 2 == 0) {
                        EXPECT_EQ(loss.idle, (p - 1) * (f + t_ar + i - w)) << p << ' ' << m << ' ' << t_ar;
                    }
                }
            }
        }
    }
}

/// The other rows of the table that all-reduces lengthen: ZB-V, whose halves show them all, and interleaved 1F1B, whose
/// whole backwards hide one of two.
TEST(StpPaper, OtherSchedulesWithExposedAllReduces) {
    for (const int p : {2, 4, 8}) {
        for (const int t_ar : {0, 2, 5}) {
            const int m = 4 * p;
            const CostModel costs = paperCosts(10, 10, 10, t_ar);
            EXPECT_EQ(lossOf({"interleaved", "megatron", p, m, 2}, costs).total,
                      (p - 1) * (10 + t_ar + 10 + 10) + 2 * m * t_ar);
            // Times of ZB-V's halves are no longer equal: its bubble is (p−1)·max(t_i, 2(t_i−t_w)).
            EXPECT_EQ(lossOf({"zb-v", "handcrafted", p, m, 2}, costs).total, (p - 1) * (10 + t_ar) + 4 * m * t_ar);
        }
    }
}

/// The peak of 3p on the first rank, between two pairs.
TEST(StpPaper, FirstRankHoldsThreePForwards) {
    for (int p = 2; p <= 12; ++p) {
        const Schedule schedule = makeSchedule({"stp", "", p, 4 * p, 2}).value();
        int held = 0;
        int peak = 0;
        for (std::size_t i = 0; i < schedule.ranks.front().size(); ++i) {
            const Op& op = schedule.ranks.front()[i];
            held += op.kind == OpKind::Forward ? 1 : op.kind == OpKind::BackwardInput ? 0 : -1;
            const bool inside = op.overlapped && i + 1 < schedule.ranks.front().size() &&
                                schedule.ranks.front()[i + 1].overlapped && op.kind == OpKind::Forward;
            if (!inside) peak = std::max(peak, held);
        }
        EXPECT_EQ(peak, 3 * p);
    }
}

} // namespace
} // namespace bubblescope
