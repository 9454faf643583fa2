#pragma once

#include "profiler/recorder/ring.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/faults/rank_faults.h"

#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// A message as it arrived at a rank.
struct Arrival {
    MessageKey key;
    Tensor tensor;
    Rank from;
    TimeNs sent{0};
    TimeNs time{0};
    bool local = false; ///< true if the message is from the rank itself, without a transfer
    std::optional<MessageDigests> digests{};
    std::shared_ptr<const DeviceSnapshot> late{}; ///< see Message
    std::unique_ptr<Arrival> joined{};            ///< from the first encoder, where two encoders join
};

/// Records a rank's ops and transfers; peers are recorded by their number in the pipeline. Drops records if a fault
/// requires it.
class RankRecord {
public:
    /// `ring` may be null; reference arguments must outlive the record.
    RankRecord(profiler::RecordRing* ring, const RankFaults& faults, const RunMesh& mesh)
        : ring_(ring), faults_(faults), mesh_(mesh) {}

    /// From now on, also adds ops and arrivals to these lists; null = no list.
    void observe(std::vector<TimelineOp>* ops, std::vector<CommSpan>* comm) {
        observed_ops_ = ops;
        observed_comm_ = comm;
    }

    void op(const TimelineOp& done, const OpDetails& details, Stage stage, int step) {
        if (observed_ops_ != nullptr) observed_ops_->push_back(done);
        push(done.op, profiler::SliceRecord::of(done, stage, step, details), step);
    }

    /// Records a transfer to another rank.
    void sent(const Op& op, const CommTopology::Route& route, TimeNs start, TimeNs end, int step) {
        comm(op, CommKind::Send, route.key, route.peer, start, end, step);
    }

    /// Records the arrivals for an op, and the rank's wait from `free` to `ready` for the last of them.
    void arrived(const Op& op, const Arrival& arrival, TimeNs free, TimeNs ready, int step) {
        const bool joined_is_last = arrival.joined && arrival.joined->time == ready;
        received(op, arrival, free, joined_is_last ? free : ready, step);
        if (arrival.joined) received(op, *arrival.joined, free, joined_is_last ? ready : free, step);
    }

    /// Records one arrival, and the wait for it.
    void received(const Op& op, const Arrival& arrival, TimeNs free, TimeNs ready, int step) {
        if (arrival.local) return;
        comm(op, CommKind::Receive, arrival.key, arrival.from, arrival.sent, arrival.time, step);
        if (ready > free) comm(op, CommKind::Wait, arrival.key, arrival.from, free, ready, step);
    }

    /// Records a sum over the ranks that share the op's stage. `rank` is the rank's number in its pipeline.
    void summed(const Op& op, Stage stage, Rank rank, TimeNs start, TimeNs end, int step) {
        const Payload payload = op.kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
        const CommSpan span{CommKind::Collective, payload, op.microbatch, stage, rank, start, end, op.sequence};
        push(op, profiler::SliceRecord::of(span, step), step);
    }

private:
    void comm(const Op& op, CommKind kind, const MessageKey& key, Rank peer, TimeNs start, TimeNs end, int step) {
        const Payload payload = key.content == Content::Activation ? Payload::Activation : Payload::Gradient;
        const CommSpan span{kind, payload, key.microbatch, key.consumer, mesh_.rankOf(peer), start, end, key.sequence};
        if (observed_comm_ != nullptr) observed_comm_->push_back(span);
        push(op, profiler::SliceRecord::of(span, step), step);
    }

    void push(const Op& op, const profiler::SliceRecord& record, int step) {
        if (ring_ == nullptr || (!faults_.none() && faults_.drops(op, step))) return;
        ring_->push(record);
    }

    profiler::RecordRing* ring_;
    const RankFaults& faults_;
    const RunMesh& mesh_;
    std::vector<TimelineOp>* observed_ops_ = nullptr;
    std::vector<CommSpan>* observed_comm_ = nullptr;
};

} // namespace bubblescope::runtime
