#pragma once

#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace bubblescope {

/// Times of individual ops and transfers that override those of a cost model when a measured step is simulated. An
/// optimizer op is identified only by its rank.
class MeasuredTimes {
public:
    /// The duration of every op in `step`, and of every transfer with a Receive span. Simulating the step's order with
    /// these times reproduces the step if each op started as soon as its rank was free and its inputs had arrived.
    [[nodiscard]] static MeasuredTimes of(const StepTimeline& step);

    void setOp(Rank rank, const Op& op, TimeNs duration);
    void setTransfer(Payload payload, Microbatch microbatch, Stage stage, std::int32_t sequence, TimeNs duration);

    /// Returns an empty optional if no time was set.
    [[nodiscard]] std::optional<TimeNs> op(Rank rank, const Op& op) const;
    /// Time of the transfer that feeds `stage`, as in CommSpan.
    [[nodiscard]] std::optional<TimeNs> transfer(Payload payload, Microbatch microbatch, Stage stage,
                                                 std::int32_t sequence) const;

    [[nodiscard]] TimeNs longest() const { return longest_; }
    [[nodiscard]] std::size_t opCount() const { return ops_.size(); }

private:
    /// For ops: rank, kind, micro-batch, chunk and slice. For transfers: stage, payload, micro-batch and slice.
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

/// Typical op times of a step: medians over all ranks and chunks, so that a single slow stage has no influence. Medians
/// are capped at the mean, because the median of two stages would otherwise be the slower stage's time. Overlapped
/// pairs are measured separately, because each half lasts as long as the pair; a kind of op that ran only in pairs gets
/// the pairs' time. `comm` is the median time of a receive.
[[nodiscard]] CostModel typicalCosts(const StepTimeline& step);

/// Same as typicalCosts(), but transfers take no time.
[[nodiscard]] CostModel typicalOpCosts(const StepTimeline& step);

} // namespace bubblescope
