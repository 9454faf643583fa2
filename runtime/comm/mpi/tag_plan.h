#pragma once

#include "core/schedule/schedule.h"
#include "runtime/comm/message.h"
#include "runtime/model/data_plan.h"

#include <algorithm>
#include <cstdint>

namespace bubblescope::runtime {

/// Numbers for what messages are for, so that MPI can match them: of the messages from one rank to another within a
/// step no two share one.
class TagPlan {
public:
    TagPlan(const Schedule& schedule, const DataPlan& plan)
        : stages_(schedule.stages()), microbatches_(std::max(schedule.microbatches, plan.routes())),
          slices_(plan.slices()), routes_(plan.routes()) {}

    [[nodiscard]] std::int64_t tagOf(const MessageKey& key) const {
        if (key.content == Content::Part) return partsFrom() + key.sequence;
        // The sum of a stage's gradients names no micro-batch, but comes from each pipeline's copy of it.
        const bool sum = key.content == Content::GradientSum;
        const int microbatch = sum ? key.producer.value % routes_ : key.microbatch.value;
        const std::int64_t piece = static_cast<std::int64_t>(microbatch) * slices_ + key.sequence;
        const std::int64_t place = static_cast<std::int64_t>(key.content) * stages_ + key.consumer.value;
        return place * microbatches_ * slices_ + piece;
    }

    /// Of mail, which is told apart by its order.
    [[nodiscard]] std::int64_t mailTag() const { return partsFrom() + kPartsUnderWay; }
    /// All tags are below.
    [[nodiscard]] std::int64_t end() const { return mailTag() + 1; }

private:
    [[nodiscard]] std::int64_t partsFrom() const {
        constexpr std::int64_t kPlacedContents = 3;
        return kPlacedContents * stages_ * microbatches_ * slices_;
    }

    std::int64_t stages_;
    std::int64_t microbatches_;
    std::int64_t slices_;
    int routes_;
};

} // namespace bubblescope::runtime
