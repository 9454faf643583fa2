#pragma once

#include "core/base/time.h"
#include "core/recognise/pieces.h"
#include "core/schedule/op.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/string_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// A number recorded in a trace. Numbers that exceed 32 bits are clamped; inferLayout() rejects the clamped
/// values.
class FoundNumber {
public:
    constexpr FoundNumber() = default;
    constexpr FoundNumber(std::int64_t number) // NOLINT(google-explicit-constructor): replaces a plain number
        : value_(static_cast<std::int32_t>(std::clamp<std::int64_t>(number, INT32_MIN, INT32_MAX))) {}
    constexpr operator std::int64_t() const { return value_; } // NOLINT(google-explicit-constructor)
    /// Needed for messages, because fmt cannot format this class.
    [[nodiscard]] constexpr std::int64_t value() const { return value_; }

private:
    std::int32_t value_ = 0;
};

/// An op found by a rule, in the trace's numbering.
struct BareFoundOp {
    FoundNumber owner; ///< the rank that ran the op: a pipeline rank, or the global rank
    FoundNumber step;
    FoundNumber microbatch;
    FoundNumber chunk_or_stage; ///< chunk or stage; see FoundOps::parts
    FoundNumber sequence;       ///< index of the sequence slice
    FoundNumber replica;        ///< index of the pipeline replica (data parallelism)
    OpKind kind = OpKind::Forward;
    bool overlapped = false;      ///< true for half of a pair; the other half has the same times
    std::uint32_t details_at = 0; ///< 1 + index into the details of the FoundOpList; 0 without details
    TimeNs start{0};
    TimeNs end{0};
};
static_assert(sizeof(BareFoundOp) == 48); // a run has millions of ops

struct FoundOp : BareFoundOp {
    OpDetails details;
};

/// Ops found in one part of a trace, for example in one track. Most ops have no details and use only 48 bytes each.
class FoundOpList {
public:
    FoundOpList() = default;
    explicit FoundOpList(const std::vector<FoundOp>& ops) {
        reserve(ops.size());
        for (const FoundOp& op : ops)
            push_back(op);
    }
    /// Takes ops and the details that they refer to. References to missing details are removed.
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
    /// All fields are 0 for an op without details. `op` must be in this list.
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
    std::uint16_t communicator = 0; ///< communicatorNumber() in FoundOps::communicators
    FoundNumber microbatch;
    FoundNumber stage; ///< the consumer's
    TimeNs start{0};
    TimeNs end{0};
    FoundNumber sequence;
    FoundNumber replica;
};

static_assert(sizeof(FoundComm) == 48);

/// Adds the name of a communicator and returns its number: 0 for an empty name, and for names beyond the 65,535th,
/// which only damaged files have.
[[nodiscard]] inline std::uint16_t communicatorNumber(StringPool& names, std::string_view name) {
    const StringId id = names.size() <= UINT16_MAX ? names.intern(name) : names.find(name);
    return static_cast<std::uint16_t>(id);
}

/// The meaning of `chunk_or_stage`.
enum class Parts {
    Chunks,           ///< chunks of a rank; owners are pipeline ranks 0 … p−1
    Stages,           ///< global stages; their assignment to owners determines ranks and chunks
    OneStagePerOwner, ///< one stage per owner; ranks are numbered in ascending order of owners
};

/// How ops are timed in our own traces with device records. Each op lasts from the start of its first kernel to the end
/// of its last. The events around the kernels are a second source of these times.
struct KernelTiming {
    std::int64_t ops = 0;       ///< number of ops timed by their kernels
    std::int64_t by_events = 0; ///< number of ops timed by events because their kernels were not recorded
    TimeNs begin{0};            ///< median time from the event before an op to the op's first kernel
    TimeNs end{0};              ///< median time from the end of the op's last kernel to the next event
    TimeNs farthest{0};         ///< largest of these times, at either end
};

using FoundOpPieces = Pieces<BareFoundOp, FoundOpList>;

struct FoundOps {
    Parts parts = Parts::Chunks;
    FoundOpPieces ops;
    Pieces<FoundComm> comm;
    StringPool communicators; ///< names, see communicatorName()
    std::optional<RunInfo> info;
    std::optional<KernelTiming> timing; ///< only for traces written by Bubblescope with kernels
    bool owners_are_global = false;     ///< true if owners are global ranks (of a mesh)
    bool bidirectional = false;         ///< true if stages are those of Placement::Bidirectional
    bool moving = false;                ///< true if chunks are stages that move between ranks: Placement::Moving
    bool chunks_unknown = false;        ///< true if names contain neither micro-batch nor chunk; see inferChunks()
};

} // namespace bubblescope
