#pragma once

#include "runtime/backend/rank_device.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/transport.h"
#include "runtime/model/tensor_shard.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Thrown to leave a rank's loop, also within an op, when the run has ended early; Transport::error() holds the reason.
struct RunEnded {};

/// One rank among those that share its stages: adds up parts with the others, over the rank's transport, and notes
/// when. Every rank sends its part to every other and adds up all of them itself, in the ranks' order: the sum is the
/// same everywhere, bit for bit, and takes the time of one transfer.
///
/// Where ops go by an emulated clock, an op's sums lie evenly spread over its nominal time, the last one at its end;
/// each begins when the last rank has come to it, takes a transfer's latency, and makes the op longer by as much.
/// Elsewhere they take the host's time, in which the op's includes it.
///
/// On a device sums are queued like everything else, and their times are known when the op's are.
///
/// Used by the rank's thread.
class TensorGroup final : public ShardSums {
public:
    struct Span {
        TimeNs start{0};
        TimeNs end{0};
    };

    /// `members` are the ranks that share, this one included. References must outlive the group.
    TensorGroup(Transport& transport, HostClock& clock, std::vector<Rank> members)
        : transport_(transport), clock_(clock), members_(std::move(members)) {}

    /// The rank computes there; `latency` as RankDevice::addUp() has it.
    void useDevice(RankDevice& device, std::optional<TimeNs> latency) {
        device_ = &device;
        latency_ = latency;
    }

    /// An op begins, or several that run as one. It is at `computing`, and has `sums` sums to come.
    void beginOp(const Activity& computing, int sums);
    /// The same on an emulated clock.
    void beginOp(const Activity& computing, int sums, TimeNs begin, TimeNs nominal, TimeNs latency);

    [[nodiscard]] Tensor addUp(Tensor part) override;

    /// What the sums since beginOp() took, from where this rank came to each.
    [[nodiscard]] TimeNs waited() const { return waited_; }
    /// Since beginOp(); on a device there are as many, without times.
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
    /// Of another rank; `there` grows to when it is there.
    [[nodiscard]] Tensor take(Rank from, const MessageKey& key, TimeNs& there);

    Transport& transport_;
    HostClock& clock_;
    std::vector<Rank> members_;
    RankDevice* device_ = nullptr;
    std::optional<TimeNs> latency_;
    std::int32_t number_ = 0; ///< of the next sum, see kPartsUnderWay
    Activity computing_;
    int sums_ = 0;
    std::optional<Emulated> emulated_;
    std::vector<Span> spans_;
    TimeNs waited_{0};
};

} // namespace bubblescope::runtime
