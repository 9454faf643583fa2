#pragma once

#include "core/base/time.h"
#include "core/recognise/pieces.h"
#include "core/schedule/op.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {

/// A number as recorded in a trace. One that exceeds 32 bits is clamped and remains invalid: inferLayout() rejects both
/// values.
class FoundNumber {
public:
    constexpr FoundNumber() = default;
    constexpr FoundNumber(std::int64_t number) // NOLINT(google-explicit-constructor): a number in fewer bytes
        : value_(static_cast<std::int32_t>(std::clamp<std::int64_t>(number, INT32_MIN, INT32_MAX))) {}
    constexpr operator std::int64_t() const { return value_; } // NOLINT(google-explicit-constructor)
    /// For messages, because fmt does not convert this class.
    [[nodiscard]] constexpr std::int64_t value() const { return value_; }

private:
    std::int32_t value_ = 0;
};

/// An op found by a rule, in the trace's own numbering.
struct BareFoundOp {
    FoundNumber owner; ///< the rank that ran it: a pipeline rank, or a global rank, which exists once per place
    FoundNumber step;
    FoundNumber microbatch;
    FoundNumber chunk_or_stage; ///< chunk or stage, see FoundOps::parts
    FoundNumber sequence;       ///< slice of the sequence
    FoundNumber replica;        ///< index among several equal pipelines (data parallelism)
    OpKind kind = OpKind::Forward;
    bool overlapped = false;      ///< half of a pair; the other half has the same times
    std::uint32_t details_at = 0; ///< 1 + index into the details of its FoundOpList; 0 if it has none
    TimeNs start{0};
    TimeNs end{0};
};
static_assert(sizeof(BareFoundOp) == 48); // a run has millions

struct FoundOp : BareFoundOp {
    OpDetails details;
};

/// Ops as they were found, for example those of one track. Most have no details: 48 bytes each.
class FoundOpList {
public:
    FoundOpList() = default;
    explicit FoundOpList(const std::vector<FoundOp>& ops) {
        reserve(ops.size());
        for (const FoundOp& op : ops)
            push_back(op);
    }
    /// Takes ops and the details that they refer to; missing details count as none.
    FoundOpList(std::vector<BareFoundOp> ops, std::vector<OpDetails> details)
        : ops_(std::move(ops)), details_(std::move(details)) {}

    void reserve(std::size_t size) { ops_.reserve(size); }
    void push_back(const FoundOp& op) {
        ops_.push_back(op);
        ops_.back().details_at = 0;
        if (op.details == OpDetails{}) return;
        details_.push_back(op.details);
        ops_.back().details_at = static_cast<std::uint32_t>(details_.size());
    }
    /// All fields are 0 for an op without details. `op` must belong to this list.
    [[nodiscard]] const OpDetails& detailsOf(const BareFoundOp& op) const {
        static constexpr OpDetails kNone{};
        return op.details_at == 0 || op.details_at > details_.size() ? kNone : details_[op.details_at - 1];
    }
    template <class Predicate>
    friend std::size_t erase_if(FoundOpList& list, const Predicate& predicate) {
        return std::erase_if(list.ops_, predicate);
    }

    /// Removes all ops except the first `size`.
    void cutOff(std::size_t size) { ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(size), ops_.end()); }

    [[nodiscard]] std::size_t size() const { return ops_.size(); }
    [[nodiscard]] bool empty() const { return ops_.empty(); }
    [[nodiscard]] BareFoundOp* data() { return ops_.data(); }
    [[nodiscard]] const BareFoundOp* data() const { return ops_.data(); }
    [[nodiscard]] BareFoundOp* begin() { return data(); }
    [[nodiscard]] BareFoundOp* end() { return data() + size(); }
    [[nodiscard]] const BareFoundOp* begin() const { return data(); }
    [[nodiscard]] const BareFoundOp* end() const { return data() + size(); }
    [[nodiscard]] BareFoundOp& operator[](std::size_t i) { return ops_[i]; }
    [[nodiscard]] const std::vector<BareFoundOp>& ops() const { return ops_; }
    [[nodiscard]] const std::vector<OpDetails>& details() const { return details_; }

private:
    std::vector<BareFoundOp> ops_;
    std::vector<OpDetails> details_;
};

struct FoundComm {
    FoundNumber owner;
    FoundNumber step;
    CommKind kind = CommKind::Send;
    Payload payload = Payload::Activation;
    FoundNumber microbatch;
    FoundNumber stage; ///< the consumer's
    TimeNs start{0};
    TimeNs end{0};
    FoundNumber sequence;
    FoundNumber replica;
};

/// The meaning of `chunk_or_stage`.
enum class Parts {
    Chunks,           ///< a rank's local parts; owners are pipeline ranks 0 … p−1
    Stages,           ///< global; the assignment of stages to owners determines ranks and chunks
    OneStagePerOwner, ///< every owner holds one stage; owners in ascending order are the ranks
};

/// The timing of the ops of our own traces with device records: each op lasts from its first to its last kernel. The
/// events around the kernels are a second source.
struct KernelTiming {
    std::int64_t ops = 0;       ///< ops that have the times of their kernels
    std::int64_t by_events = 0; ///< ops timed by events, because none of their kernels was recorded
    TimeNs begin{0};            ///< median time from the event before an op to its first kernel
    TimeNs end{0};              ///< median time from its last kernel's end to the event after it
    TimeNs farthest{0};         ///< the largest such time at either end
};

using FoundOpPieces = Pieces<BareFoundOp, FoundOpList>;

struct FoundOps {
    Parts parts = Parts::Chunks;
    FoundOpPieces ops;
    Pieces<FoundComm> comm;
    std::optional<RunInfo> info;
    std::optional<KernelTiming> timing; ///< for our own traces with kernels
    bool owners_are_global = false;     ///< owners are global ranks of the job, whose places in a mesh may be known
};

} // namespace bubblescope
