#include "core/analysis/clocks/transfers.h"

#include "core/schedule/dependency.h"

#include <algorithm>

namespace bubblescope {

std::vector<MatchedTransfer> matchTransfers(const StepTimeline& step) {
    std::vector<MatchedTransfer> all;
    matchTransfers(step, all);
    return all;
}

void matchTransfers(const StepTimeline& step, std::vector<MatchedTransfer>& all) {
    // A place for every transfer that the step can have.
    const int stages = step.pp * step.vpp;
    std::int32_t slices = 1;
    for (const auto& spans : step.comm) {
        for (const CommSpan& span : spans) {
            if (span.sequence < kMaxSequenceSlices) slices = std::max(slices, span.sequence + 1);
        }
    }
    const auto rows = static_cast<std::size_t>(stages) * static_cast<std::size_t>(step.microbatches);
    all.assign(2 * rows * static_cast<std::size_t>(slices), {});
    for (std::size_t r = 0; r < step.comm.size(); ++r) {
        for (const CommSpan& span : step.comm[r]) {
            const bool known = span.stage.value >= 0 && span.stage.value < stages && span.microbatch.value >= 0 &&
                               span.microbatch.value < step.microbatches && span.sequence >= 0 &&
                               span.sequence < slices;
            if (!known || span.kind == CommKind::Wait || span.kind == CommKind::Collective) continue;
            const std::size_t row =
                (static_cast<std::size_t>(span.payload) * static_cast<std::size_t>(stages) + span.stage.index()) *
                    static_cast<std::size_t>(step.microbatches) +
                span.microbatch.index();
            MatchedTransfer& transfer =
                all[row * static_cast<std::size_t>(slices) + static_cast<std::size_t>(span.sequence)];
            const bool sends = span.kind == CommKind::Send;
            const CommSpan*& side = sends ? transfer.send : transfer.receive;
            if (side != nullptr) continue;
            side = &span;
            (sends ? transfer.from : transfer.to) = Rank{r};
        }
    }
    std::erase_if(
        all, [](const MatchedTransfer& transfer) { return transfer.send == nullptr || transfer.receive == nullptr; });
}

} // namespace bubblescope
