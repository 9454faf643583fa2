#include "core/lowering/torch_passes.h"

#include "core/base/field.h"
#include "core/schedule/order_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace bubblescope {
namespace {

class WeightActions {
public:
    WeightActions(const Schedule& order, Rank rank, const WeightRules& rules)
        : order_(order), ops_(order.ranks[rank.index()]), rank_(rank), rules_(rules),
          uses_(static_cast<std::size_t>(order.vpp)), next_use_(uses_.size(), 0), backwards_(uses_.size(), 0) {
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            if (ops_[i].kind != OpKind::Optimizer) uses_[ops_[i].chunk.index()].push_back(i);
        }
    }

    Result<std::vector<Action>> run() {
        for (std::size_t i = 0; i < ops_.size(); i += opOrPairAt(ops_, i).size()) {
            if (ops_[i].kind == OpKind::Optimizer) continue;
            const std::span<const Op> unit = opOrPairAt(ops_, i);
            const int stages = unit.size() == 2 && unit[0].chunk != unit[1].chunk ? 2 : 1;
            if (stages > rules_.max_active_stages) return tooMany(i, stages);
            moveWeights(i);
            addCompute(i);
            for (const Op& op : unit)
                reduceAfter(op);
        }
        for (const Chunk chunk : active_)
            add(ActionKind::Reshard, chunk);
        waitForReduction();
        return std::move(actions_);
    }

private:
    [[nodiscard]] Error tooMany(std::size_t index, int stages) const {
        Action action;
        action.op = static_cast<std::int32_t>(index);
        return usageError(fmt::format("{} needs the weights of {} stages, but {}", actionName(order_, rank_, action),
                                      stages, Field("max_active_stages").is(rules_.max_active_stages)),
                          fmt::format("use {} or more", Field("max_active_stages").is(stages)));
    }

    void add(ActionKind kind, Chunk chunk) {
        Action action;
        action.kind = kind;
        action.stage = order_.stageOf(rank_, chunk);
        actions_.push_back(action);
    }
    void addCompute(std::size_t index) {
        Action action;
        action.op = static_cast<std::int32_t>(index);
        action.stage = order_.stageOf(rank_, ops_[index].chunk);
        action.microbatch = ops_[index].microbatch;
        actions_.push_back(action);
    }

    /// The chunks used by the ops from `index` onwards, ordered by first use.
    void findUpcoming(std::size_t index) {
        upcoming_.clear();
        for (std::size_t chunk = 0; chunk < uses_.size(); ++chunk) {
            std::size_t& next = next_use_[chunk];
            while (next < uses_[chunk].size() && uses_[chunk][next] < index)
                ++next;
            if (next < uses_[chunk].size()) upcoming_.push_back({uses_[chunk][next], Chunk{chunk}});
        }
        std::ranges::sort(upcoming_, {}, &Use::at);
    }
    /// The number of upcoming chunks to gather for a lookahead of `count`. The second half of a pair counts with the
    /// first.
    [[nodiscard]] std::size_t upTo(int count) const {
        auto taken = std::min(static_cast<std::size_t>(count), upcoming_.size());
        if (taken > 0 && taken < upcoming_.size()) {
            const std::size_t last = upcoming_[taken - 1].at;
            const bool first_half = unitBegin(last) == last && opOrPairAt(ops_, last).size() == 2;
            if (first_half && upcoming_[taken].at == last + 1) ++taken;
        }
        return taken;
    }
    [[nodiscard]] std::size_t unitBegin(std::size_t index) const {
        std::size_t run = 0; // number of consecutive overlapped ops before this one; they form pairs, starting with the
                             // first
        while (run < index && ops_[index - run - 1].overlapped)
            ++run;
        return ops_[index].overlapped && run % 2 == 1 ? index - 1 : index;
    }

    void moveWeights(std::size_t index) {
        findUpcoming(index);
        const auto among = [this](Chunk chunk, std::size_t count) {
            return std::ranges::any_of(std::span(upcoming_).first(count),
                                       [chunk](const Use& use) { return use.chunk == chunk; });
        };
        const std::size_t resident = upTo(rules_.max_active_stages);
        std::vector<Chunk> fetched;
        for (const Use& use : std::span(upcoming_).first(upTo(rules_.lookahead))) {
            if (std::ranges::find(active_, use.chunk) == active_.end()) fetched.push_back(use.chunk);
        }
        for (const Chunk chunk : active_) {
            if (!among(chunk, resident)) add(ActionKind::Reshard, chunk);
        }
        std::erase_if(active_, [&](Chunk chunk) { return !among(chunk, resident); });
        for (const Chunk chunk : fetched) {
            add(ActionKind::Unshard, chunk);
            active_.push_back(chunk);
        }
    }

    /// Adds the reduction after the last op that adds to a stage's gradients.
    void reduceAfter(const Op& op) {
        if (op.kind != OpKind::Backward && op.kind != OpKind::BackwardWeight) return;
        if (++backwards_[op.chunk.index()] != order_.microbatches) return;
        if (rules_.defer_reduce_grad_wait) waitForReduction();
        add(ActionKind::ReduceGrad, op.chunk);
        reducing_ = op.chunk.value;
        if (!rules_.defer_reduce_grad_wait) waitForReduction();
    }
    void waitForReduction() {
        if (reducing_ >= 0) add(ActionKind::WaitReduceGrad, Chunk{reducing_});
        reducing_ = -1;
    }

    struct Use {
        std::size_t at = 0; ///< index of the op
        Chunk chunk;
    };

    const Schedule& order_;
    const std::vector<Op>& ops_;
    Rank rank_;
    const WeightRules& rules_;
    std::vector<std::vector<std::size_t>> uses_; ///< per chunk, its ops
    std::vector<std::size_t> next_use_;          ///< per chunk, index into uses_
    std::vector<int> backwards_;
    std::vector<Use> upcoming_;
    std::vector<Chunk> active_; ///< in the order in which they were gathered
    std::vector<Action> actions_;
    int reducing_ = -1;
};

} // namespace

Result<std::vector<Action>> withWeightActions(const Schedule& order, Rank rank, const WeightRules& rules) {
    return WeightActions(order, rank, rules).run();
}

} // namespace bubblescope
