#include "core/optimize/search/improve.h"

#include "core/optimize/search/critical_moves.h"
#include "core/optimize/search/justify.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::size_t kTries = 8; ///< moves tried in turn if they deadlock

struct Judged {
    OrderMove move;
    std::int64_t estimate = 0;
    std::uint64_t tie = 0;
};

class TabuSearch {
public:
    TabuSearch(const OrderProblem& problem, const ImproveOptions& options, const JobControl& control)
        : options_(options), control_(control), stop_(control, 64), random_(options.seed), now_(problem),
          rests_(static_cast<std::size_t>(problem.size()), 0) {}

    Improved run(const RankOrders& start) {
        Improved result;
        if (!now_.assign(start)) return result;
        justify(now_, kJustifyMost, control_);
        best_ = now_.orders();
        best_makespan_ = now_.makespan();
        bool justified = true; // the best order has been justified
        std::int64_t since = 0;
        while (best_makespan_ > options_.goal && now_.touched() < options_.effort && !stop_.requested()) {
            if (!step()) since = options_.patience;
            if (now_.makespan() < best_makespan_) {
                best_makespan_ = now_.makespan();
                best_ = now_.orders();
                since = 0;
                justified = false;
            } else if (++since > options_.patience) {
                since = 0;
                if (!justified && justifyBest()) continue;
                justified = true;
                if (!shake()) break;
            }
        }
        result.orders = std::move(best_);
        result.makespan = best_makespan_;
        result.moves = moves_;
        result.judged = judged_;
        result.touched = now_.touched();
        return result;
    }

private:
    /// Makes one move; false if there is none.
    bool step() {
        found_.clear();
        for (const OrderMove& move : critical_.propose(now_, random_)) {
            if (!now_.allowed(move)) continue;
            ++judged_;
            const std::int64_t estimate = now_.estimate(move);
            const OpNumber op = now_.orders()[static_cast<std::size_t>(move.rank)][static_cast<std::size_t>(move.from)];
            if (rests_[static_cast<std::size_t>(op)] > moves_ && estimate >= best_makespan_) continue;
            found_.push_back({move, estimate, random_()});
        }
        const std::size_t tries = std::min(kTries, found_.size());
        std::partial_sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(tries), found_.end(),
                          [](const Judged& a, const Judged& b) {
                              return a.estimate != b.estimate ? a.estimate < b.estimate : a.tie < b.tie;
                          });
        for (std::size_t i = 0; i < tries; ++i) {
            if (carryOut(found_[i].move)) return true;
        }
        return false;
    }

    bool carryOut(const OrderMove& move) {
        const OpNumber op = now_.orders()[static_cast<std::size_t>(move.rank)][static_cast<std::size_t>(move.from)];
        if (!now_.apply(move)) return false;
        ++moves_;
        rests_[static_cast<std::size_t>(op)] = moves_ + 6 + static_cast<std::int64_t>(random_() % 10);
        return true;
    }

    /// Returns to the best order; true if justification makes it shorter.
    bool justifyBest() {
        if (!now_.assign(best_) || !justify(now_, kJustifyMost, control_)) return false;
        best_makespan_ = now_.makespan();
        best_ = now_.orders();
        return true;
    }

    /// Returns to the best order and makes some random moves. False if none can be carried out.
    bool shake() {
        if (!now_.assign(best_)) return false;
        const int count = 3 + static_cast<int>(random_() % 8);
        bool any = false;
        for (int tries = 0, done = 0; tries < 50 * count && done < count; ++tries) {
            const auto rank = random_() % now_.orders().size();
            const auto length = static_cast<std::int32_t>(now_.orders()[rank].size());
            if (length < 2) continue;
            const auto from = static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(length));
            const auto by = static_cast<std::int32_t>(random_() % 9) - 4;
            const OrderMove move{static_cast<std::int32_t>(rank), from, std::clamp(from + by, 0, length - 1)};
            if (move.from == move.to || !now_.allowed(move) || !carryOut(move)) continue;
            any = true;
            ++done;
        }
        return any;
    }

    const ImproveOptions& options_;
    const JobControl& control_;
    StopCheck stop_;
    std::mt19937_64 random_;
    OrderEvaluator now_;
    std::vector<std::int64_t> rests_; ///< per op: number of the move until which the op must not be moved
    CriticalMoves critical_;
    std::vector<Judged> found_;
    RankOrders best_;
    std::int64_t best_makespan_ = 0;
    std::int64_t moves_ = 0;
    std::int64_t judged_ = 0;
};

} // namespace

Improved improveOrder(const OrderProblem& problem, const RankOrders& start, const ImproveOptions& options,
                      const JobControl& control) {
    return TabuSearch(problem, options, control).run(start);
}

} // namespace bubblescope
