#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/base/large_list.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Both sides of a recorded transfer in a step. The spans belong to the step, which must outlive this object.
struct MatchedTransfer {
    Rank from;
    Rank to;
    const CommSpan* send = nullptr;
    const CommSpan* receive = nullptr;
};

/// Matches the sends and receives of a step by payload, stage, micro-batch and sequence slice. If several records are
/// equal, the first one counts. Skips transfers whose stage or micro-batch does not exist in the step. Linear in the
/// number of recorded and possible transfers of the step. Uses all cores.
class TransferTable {
public:
    /// The step must remain valid while the table is used. Reuses the memory of the previous step.
    void read(const StepTimeline& step);

    /// One row per payload and consuming stage, in this order.
    [[nodiscard]] std::size_t rows() const { return width_ == 0 ? 0 : sent_.size() / width_; }
    /// The maximum number of transfers per row.
    [[nodiscard]] std::size_t width() const { return width_; }
    /// Calls visit(transfer) for each transfer of a row recorded on both sides, by micro-batch and slice.
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
        bool wanted = true;      ///< true if all of the rank's records were stored in the table
        std::int32_t slices = 1; ///< number of sequence slices; slices beyond those of the table are not stored
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

/// How the times of an op relate to those of the op that produces its input.
enum class OpOrder {
    EndToStart, ///< the op starts after the producer ended (or started, for a producer in a pair)
    StartToEnd, ///< the op ends after the producer started; used if ops include the waits around them
};

/// Adds evidence from a step about the ranks' clocks: the receive of a transfer does not end before its send starts.
/// The order of ops is used for transfers that were not recorded on both sides. `clock_of_rank` has one entry per rank.
StepEventCounts addStepEvents(const StepTimeline& step, const std::vector<int>& clock_of_rank, OpOrder op_order,
                              std::vector<Precedence>& into);

} // namespace bubblescope
