#pragma once

#include "core/base/time.h"
#include "core/recognise/pieces.h"
#include "core/schedule/op.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace bubblescope {

/// A number as a trace states it. One that 32 bits do not hold becomes the nearest that they hold, which is as invalid:
/// inferLayout() rejects both.
class FoundNumber {
public:
    constexpr FoundNumber() = default;
    constexpr FoundNumber(std::int64_t number) // NOLINT(google-explicit-constructor): a number in fewer bytes
        : value_(static_cast<std::int32_t>(std::clamp<std::int64_t>(number, INT32_MIN, INT32_MAX))) {}
    constexpr operator std::int64_t() const { return value_; } // NOLINT(google-explicit-constructor)

private:
    std::int32_t value_ = 0;
};

/// An op as a rule found it, in the trace's own numbering.
struct BareFoundOp {
    FoundNumber owner; ///< who ran it: a pipeline rank, or a global rank of which there is one per place
    FoundNumber step;
    FoundNumber microbatch;
    FoundNumber chunk_or_stage; ///< chunk or stage, see FoundOps::parts
    FoundNumber sequence;       ///< slice of the sequence
    FoundNumber replica;        ///< which of several equal pipelines (data parallelism)
    OpKind kind = OpKind::Forward;
    bool overlapped = false; ///< half of a pair; the other half has the same times
    TimeNs start{0};
    TimeNs end{0};
};
struct FoundOp : BareFoundOp {
    OpDetails details;
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

/// What `chunk_or_stage` counts.
enum class Parts {
    Chunks,           ///< a rank's local parts; owners are pipeline ranks 0 … p−1
    Stages,           ///< global; the assignment of stages to owners determines ranks and chunks
    OneStagePerOwner, ///< every owner holds one stage; owners in ascending order are the ranks
};

/// How the ops of our own traces were timed that recorded what devices ran: by the kernels of each, from the first to
/// the last. Events around them are a second witness.
struct KernelTiming {
    std::int64_t ops = 0;       ///< that have the times of their kernels
    std::int64_t by_events = 0; ///< that have those of events, since none of their kernels was recorded
    TimeNs begin{0};            ///< from the event before an op to its first kernel: median
    TimeNs end{0};              ///< from its last kernel's end to the event behind it: median
    TimeNs farthest{0};         ///< the largest distance at an end, either way
};

struct FoundOps {
    Parts parts = Parts::Chunks;
    Pieces<FoundOp> ops;
    Pieces<FoundComm> comm;
    std::optional<RunInfo> info;
    std::optional<KernelTiming> timing; ///< of our own traces with kernels
    bool owners_are_global = false;     ///< owners are global ranks of the job, whose places in a mesh may be known
};

} // namespace bubblescope
