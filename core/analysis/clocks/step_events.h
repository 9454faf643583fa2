#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/base/large_list.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Both sides of a transfer that a step recorded. The spans lie in the step, which must outlive this.
struct MatchedTransfer {
    Rank from;
    Rank to;
    const CommSpan* send = nullptr;
    const CommSpan* receive = nullptr;
};

/// The sends and receives of a step that belong together, by payload, stage, micro-batch and sequence slice; of several
/// equal ones the first counts. Those of stages or micro-batches that the step does not have are left out. Linear in
/// transfers and in what the step can have of them, on all cores.
class TransferTable {
public:
    /// The step must outlive its use. Memory of the step before is reused.
    void read(const StepTimeline& step);

    /// One for each payload and stage that consumes it, in this order.
    [[nodiscard]] std::size_t rows() const { return width_ == 0 ? 0 : sent_.size() / width_; }
    /// The most transfers of a row.
    [[nodiscard]] std::size_t width() const { return width_; }
    /// Calls visit(transfer) for those of a row that both sides recorded, by micro-batch and slice.
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
        const CommSpan* span; ///< null where it is not recorded
        std::int32_t rank;
    };
    /// What a rank's records are found to be.
    struct Found {
        bool wanted = true;      ///< all; if not, some are missing from the table
        std::int32_t slices = 1; ///< of sequences; those that the table does not have are missing from it
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

/// How many events of each source were taken.
struct StepEventCounts {
    std::size_t transfers = 0;
    std::size_t op_orders = 0;
};

/// How an op's times relate to those of the op that it gets its input from.
enum class OpOrder {
    EndToStart, ///< starts when that has ended, at the earliest (has started, if it ran in a pair)
    StartToEnd, ///< ends when that has started, at the earliest: where ops hold the waits around them
};

/// What a step shows of its ranks' clocks: a transfer's receive does not end before its send starts. Where a transfer
/// was not recorded on both sides, the order of the ops takes its place. `clock_of_rank` has an entry per rank.
StepEventCounts addStepEvents(const StepTimeline& step, const std::vector<int>& clock_of_rank, OpOrder op_order,
                              std::vector<Precedence>& into);

} // namespace bubblescope
