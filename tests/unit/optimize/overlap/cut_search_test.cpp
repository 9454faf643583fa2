// The search against every order there is, on small passes.

#include "core/optimize/overlap/cuts.h"
#include "tests/unit/optimize/overlap/op_lists.h"

#include <gtest/gtest.h>

#include <random>

namespace bubblescope::overlap {
namespace {

class RandomPasses {
public:
    explicit RandomPasses(unsigned seed) : random_(seed) {}

    int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

    Operators operators(int most) {
        Operators ops;
        const int count = number(1, most);
        for (int i = 0; i < count; ++i) {
            Operator op;
            op.time = op.assumed = TimeNs{number(0, 9)};
            op.all_reduce = !ops.empty() && !ops.back().all_reduce && number(0, 1) == 0;
            op.own_stream = op.all_reduce;
            if (!op.all_reduce && number(0, 1) == 0) op.weight_grad = op.time / 2;
            ops.push_back(op);
        }
        return number(0, 1) == 0 ? splitWeightGrads(ops) : ops;
    }

private:
    std::mt19937 random_;
};

/// Tries every order in which the compute ops can be issued, each all-reduce directly after its op.
class EveryOrder {
public:
    EveryOrder(const Plan& plan, const StreamRules& rules) : plan_(plan), rules_(rules) { plan_.pieces.clear(); }

    TimeNs shortest() {
        extend(0, 0);
        return best_;
    }
    [[nodiscard]] int tried() const { return tried_; }

private:
    void extend(std::size_t i, std::size_t j) {
        if (i == plan_.ops[0].size() && j == plan_.ops[1].size()) {
            best_ = std::min(best_, runPlan(plan_, rules_).end());
            ++tried_;
            return;
        }
        for (const Pass pass : {Pass::Backward, Pass::Forward}) {
            const Operators& ops = plan_.of(pass);
            const std::size_t from = pass == Pass::Backward ? i : j;
            if (from == ops.size()) continue;
            const std::size_t to = from + (from + 1 < ops.size() && ops[from + 1].all_reduce ? 2 : 1);
            const std::vector<Piece> before = plan_.pieces;
            if (before.empty() || before.back().pass != pass) plan_.pieces.push_back({pass, static_cast<int>(from), 0});
            plan_.pieces.back().end = static_cast<int>(to);
            pass == Pass::Backward ? extend(to, j) : extend(i, to);
            plan_.pieces = before;
        }
    }

    Plan plan_;
    StreamRules rules_;
    TimeNs best_ = TimeNs::max();
    int tried_ = 0;
};

TEST(CutSearch, NoOrderIsShorter) {
    RandomPasses passes(7);
    int orders = 0;
    int gained = 0;
    for (int i = 0; i < 1500; ++i) {
        const Operators backward = passes.operators(10);
        const Operators forward = passes.operators(8);
        const StreamRules rules{passes.number(0, 2) > 0, TimeNs{passes.number(0, 1) * passes.number(0, 3)}};
        const Plan found = searchCuts(backward, forward, rules);
        EveryOrder every(found, rules);
        EXPECT_EQ(runPlan(found, rules).end(), every.shortest()) << "case " << i;
        orders += every.tried();
        gained += runPlan(found, rules).end() < runPlan(cutAtEveryAllReduce(backward, forward), rules).end() ? 1 : 0;
    }
    RecordProperty("orders", orders);
    EXPECT_GT(orders, 100'000);
    EXPECT_GT(gained, 500) << "the cases must be ones in which it matters where to cut";
}

TEST(CutSearch, PlansCoverBothPassesInOrder) {
    RandomPasses passes(3);
    for (int i = 0; i < 200; ++i) {
        const Plan plan = searchCuts(passes.operators(30), passes.operators(30), {});
        PerPass<int> at{};
        for (std::size_t k = 0; k < plan.pieces.size(); ++k) {
            const Piece& piece = plan.pieces[k];
            EXPECT_EQ(piece.first, at[passIndex(piece.pass)]);
            EXPECT_GT(piece.end, piece.first);
            EXPECT_TRUE(k == 0 || piece.pass != plan.pieces[k - 1].pass);
            at[passIndex(piece.pass)] = piece.end;
        }
        for (std::size_t pass = 0; pass < 2; ++pass)
            EXPECT_EQ(at[pass], static_cast<int>(plan.ops[pass].size()));
    }
}

TEST(CutSearch, CutsAreNotMadeForNothing) {
    // Nothing to hide: one piece each. With cuts that cost more than they hide, too.
    const Operators plain = test::opList({{'c', 5}, {'c', 5}, {'c', 5}});
    EXPECT_EQ(searchCuts(plain, plain, {}).pieces.size(), 2U);
    const Operators reduced = test::opList({{'c', 5}, {'a', 2}, {'c', 5}});
    EXPECT_EQ(runPlan(searchCuts(reduced, reduced, {true, TimeNs{50}}), {true, TimeNs{50}}).end(), TimeNs{24});
}

} // namespace
} // namespace bubblescope::overlap
