#pragma once

#include "profiler/kernels/kernel_recorder.h"
#include "runtime/backend/rank_queue.h"
#include "runtime/engine/rank_hook.h"
#include "runtime/engine/rank_record.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// A rank's ops on a device with queues: their times are known, and recorded, only at the end of a step. For the rank's
/// thread.
class DeviceOps {
public:
    /// Binds the calling thread to the device. `rank` is the global rank; `kernels`, if not null, is notified of
    /// everything that the rank launches. Reference arguments must outlive the object.
    DeviceOps(std::shared_ptr<RankQueue> device, RankRecord& record, const CommTopology& topology, Rank rank,
              profiler::KernelRecorder* kernels);

    [[nodiscard]] RankQueue& device() { return *device_; }

    /// `time` is on the rank's clock.
    void beginStep(TimeNs time, int step);
    /// Queues the transfer of an arrival for the op that begins next. The transfer takes at least `latency`.
    void receive(Arrival& arrival, std::optional<TimeNs> latency);
    /// Begins one op, or both ops of a pair. `variant` distinguishes ops whose work differs because of checks.
    void begin(std::span<const Op> ops, std::optional<TimeNs> nominal, int sums = 0, std::uint64_t variant = 0);
    /// Ends one op, or both ops of a pair. `arrivals` lists what each op received, in the order of receive(); `sums` is
    /// the number of sums in each op, or empty if there are none.
    void end(std::span<const Op> ops, const std::vector<std::optional<Arrival>>& arrivals,
             std::vector<std::size_t> sums = {});
    [[nodiscard]] Tensor handOver(Tensor tensor) { return device_->handOver(std::move(tensor)); }
    /// Records that the output of one of the ops that ended last was sent to another rank. The receiver performs the
    /// transfer.
    void sent(const Op& op, const CommTopology::Route& route, TimeNs latency);

    /// Waits for the device, and records the ops. Returns the end of the last op.
    [[nodiscard]] TimeNs finish(int step);
    /// The ops recorded by the last finish().
    [[nodiscard]] std::span<const DoneOp> done() const { return done_; }

private:
    struct Message {
        Op op;
        Arrival arrival; ///< without its tensor
    };
    struct Sent {
        Op op;
        CommTopology::Route route;
        TimeNs latency{0};
    };
    struct Queued {
        std::vector<Op> ops;
        std::vector<Sent> sent;
        std::vector<Message> messages;
        std::vector<std::size_t> sums; ///< by op
    };

    void nameStreams();
    void record(const Queued& queued, const RankQueue::OpTimes& times, int step);
    /// Returns the time that the ops spent waiting for sums.
    TimeNs recordSums(const Queued& queued, const RankQueue::OpTimes& times, int step);

    std::shared_ptr<RankQueue> device_;
    RankRecord& record_;
    const CommTopology& topology_;
    Rank rank_;
    profiler::KernelRecorder* kernels_;
    int step_ = 0;
    std::size_t named_streams_ = 0;
    std::vector<Queued> queued_;
    std::vector<DoneOp> done_;
    TimeNs free_at_{0};
};

} // namespace bubblescope::runtime
