#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/base/large_list.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Both sides of a transfer that a step recorded. The spans are in the step, which must outlive this object.
struct MatchedTransfer {
    Rank from;
    Rank to;
    const CommSpan* send = nullptr;
    const CommSpan* receive = nullptr;
};

/// Matches the sends and receives of a step by payload, stage, micro-batch and sequence slice; of several equal ones
/// the first counts. Leaves out those of stages or micro-batches that the step does not have. Linear in the number of
/// transfers that the step has or can have, on all cores.
class TransferTable {
public:
    /// The step must outlive its use. Reuses the memory of the previous step.
    void read(const StepTimeline& step);

    /// One row per payload and consuming stage, in this order.
    [[nodiscard]] std::size_t rows() const { return width_ == 0 ? 0 : sent_.size() / width_; }
    /// The maximum number of transfers per row.
    [[nodiscard]] std::size_t width() const { return width_; }
    /// Calls visit(transfer) for the transfers of a row that both sides recorded, by micro-batch and slice.
    template <class Visit>
    void eachOf(std::size_t row, Visit visit) const {
        for (std::size_t place = row * width_; place < (row + 1) * width_; ++place) {
            const Side& sent = sent_[place];
            const Side& received = received_[place];
            if (sent.span != nullptr && received.span != nullptr)
                visit(MatchedTransfer{Rank{sent.rank}, Rank{received.rank}, sent.span, received.span});
        }
    }

private:
    struct Side {
        const CommSpan* span; ///< null if not recorded
        std::int32_t rank;
    };
    /// The result of matching a rank's records.
    struct Found {
        bool wanted = true;      ///< true if all were stored; if not, some are missing from the table
        std::int32_t slices = 1; ///< of sequences; slices that the table does not have are missing from it
    };
    [[nodiscard]] std::int32_t fill(const StepTimeline& step);
    void clear();
    template <class IsWanted>
    Found add(const StepTimeline& step, Rank rank, IsWanted isWanted);

    std::size_t width_ = 0; ///< micro-batches · slices
    std::int32_t slices_ = 1;
    ListToFill<Side> sent_;
    ListToFill<Side> received_;
};

/// The number of events used, by source.
struct StepEventCounts {
    std::size_t transfers = 0;
    std::size_t op_orders = 0;
};

/// The relation of an op's times to those of the op that produces its input.
enum class OpOrder {
    EndToStart, ///< does not start before that op has ended (has started, if it ran in a pair)
    StartToEnd, ///< does not end before that op has started, if ops include the waits around them
};

/// Evidence in a step about its ranks' clocks: a transfer's receive does not end before its send starts. If a transfer
/// was not recorded on both sides, the order of the ops is used instead. `clock_of_rank` has one entry per rank.
StepEventCounts addStepEvents(const StepTimeline& step, const std::vector<int>& clock_of_rank, OpOrder op_order,
                              std::vector<Precedence>& into);

} // namespace bubblescope
