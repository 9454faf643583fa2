#pragma once

#include "runtime/backend/rank_queue.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/transport.h"
#include "runtime/model/data_plan.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A member of a group of ranks that share stages: sums parts with the other members over the rank's transport, and
/// records the times. Every rank sends its part to every other rank and adds all parts in the ranks' order. The sum is
/// therefore bit-identical on all ranks, and takes the time of one transfer.
///
/// On an emulated clock, an op's sums are spread evenly over its nominal time; the last one is at the end of the op.
/// Each sum begins when the last rank has reached it, takes a transfer's latency, and lengthens the op by that time. On
/// other clocks, the time of sums is measured on the host and is part of the op's time.
///
/// On a device, sums are queued like other work, and their times become known together with the op's times.
///
/// Used by the rank's thread.
class TensorGroup final : public ShardSums {
public:
    struct Span {
        TimeNs start{0};
        TimeNs end{0};
    };

    /// `members` are the ranks that share the stages, including this one. Reference arguments must outlive the group.
    TensorGroup(Transport& transport, HostClock& clock, std::vector<Rank> members)
        : transport_(transport), clock_(clock), members_(std::move(members)) {}

    /// Makes the group use this device instead of the host; see RankQueue::addUp() for `latency`.
    void useDevice(RankQueue& device, std::optional<TimeNs> latency) {
        device_ = &device;
        latency_ = latency;
    }

    /// Begins an op, or several ops that run as one, with `sums` sums in total. `computing` is the op's activity.
    void beginOp(const Activity& computing, int sums);
    /// Like the other beginOp(), but on an emulated clock.
    void beginOp(const Activity& computing, int sums, TimeNs begin, TimeNs nominal, TimeNs latency);

    [[nodiscard]] Tensor addUp(Tensor part) override;
    /// While `on` is true, a sum consists of this rank's part only, so that all code can be loaded without waiting for
    /// other ranks.
    void rehearse(bool on) { rehearsing_ = on; }

    /// The time taken by the sums since beginOp(), each counted from the time at which this rank reached the sum.
    [[nodiscard]] TimeNs waited() const { return waited_; }
    /// The sums since beginOp(); on a device the spans have no times.
    [[nodiscard]] std::span<const Span> spans() const { return spans_; }

private:
    struct Emulated {
        TimeNs begin{0};
        TimeNs nominal{0};
        TimeNs latency{0};
    };

    [[nodiscard]] Tensor addUpHere(Tensor part);
    [[nodiscard]] Tensor addUpOnDevice(Tensor part);
    [[nodiscard]] TimeNs startOfNext() const;
    [[nodiscard]] MessageKey nextKey();
    /// Receives a part from another rank; `there` is set to its arrival time if that is later.
    [[nodiscard]] Tensor take(Rank from, const MessageKey& key, TimeNs& there);

    Transport& transport_;
    HostClock& clock_;
    std::vector<Rank> members_;
    RankQueue* device_ = nullptr;
    std::optional<TimeNs> latency_;
    std::int32_t number_ = 0; ///< number of the next sum; see kPartsUnderWay
    Activity computing_;
    bool rehearsing_ = false;
    int sums_ = 0;
    std::optional<Emulated> emulated_;
    std::vector<Span> spans_;
    TimeNs waited_{0};
};

} // namespace bubblescope::runtime
