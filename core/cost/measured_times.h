#pragma once

#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace bubblescope {

/// Times of single ops and transfers that take the place of a cost model's, to replay a measured step. An
/// optimizer op is known by its rank alone.
class MeasuredTimes {
public:
    /// Every op's duration in `step`, and every transfer's that it holds a Receive span of. Simulating the step's
    /// order on these gives the step again if each of its ops started as soon as its rank was free and its inputs
    /// were there.
    [[nodiscard]] static MeasuredTimes of(const StepTimeline& step);

    void setOp(Rank rank, const Op& op, TimeNs duration);
    void setTransfer(Payload payload, Microbatch microbatch, Stage stage, std::int32_t sequence, TimeNs duration);

    /// None where nothing was set.
    [[nodiscard]] std::optional<TimeNs> op(Rank rank, const Op& op) const;
    /// Of the transfer that feeds `stage`, as in CommSpan.
    [[nodiscard]] std::optional<TimeNs> transfer(Payload payload, Microbatch microbatch, Stage stage,
                                                 std::int32_t sequence) const;

    [[nodiscard]] TimeNs longest() const { return longest_; }
    [[nodiscard]] std::size_t opCount() const { return ops_.size(); }

private:
    /// Ops: rank, kind, micro-batch, chunk and slice. Transfers: stage, payload, micro-batch and slice.
    struct Key {
        std::int32_t place = 0;
        std::int32_t kind = 0;
        std::int32_t microbatch = 0;
        std::int32_t chunk = 0;
        std::int32_t sequence = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    static Key opKey(Rank rank, const Op& op);
    static Key transferKey(Payload payload, Microbatch microbatch, Stage stage, std::int32_t sequence);

    std::unordered_map<Key, TimeNs, Hash> ops_;
    std::unordered_map<Key, TimeNs, Hash> transfers_;
    TimeNs longest_{0};
};

/// What the ops of a step took: medians over all ranks and chunks, robust against one slow stage. Pairs are
/// measured apart from ops that ran alone, since a half lasts as long as its pair; the time of a kind that ran in
/// pairs only is that of the pairs. `comm` is the median time of a receive.
[[nodiscard]] CostModel typicalCosts(const StepTimeline& step);

/// The same with free transfers.
[[nodiscard]] CostModel typicalOpCosts(const StepTimeline& step);

} // namespace bubblescope
