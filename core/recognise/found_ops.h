#pragma once

#include "core/base/time.h"
#include "core/recognise/pieces.h"
#include "core/schedule/op.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <optional>

namespace bubblescope {

/// An op as a rule found it, in the trace's own numbering.
struct FoundOp {
    std::int64_t owner = 0; ///< who ran it: a pipeline rank, or a global rank of which there is one per place
    std::int64_t step = 0;
    OpKind kind = OpKind::Forward;
    std::int64_t microbatch = 0;
    std::int64_t chunk_or_stage = 0; ///< chunk or stage, see FoundOps::parts
    TimeNs start{0};
    TimeNs end{0};
    TimeNs lateness{0};
    std::int64_t sequence = 0; ///< slice of the sequence
    bool overlapped = false;   ///< half of a pair; the other half has the same times
    std::int64_t replica = 0;  ///< which of several equal pipelines (data parallelism)
    TimeNs device_idle{0};     ///< see TimelineOp
    TimeNs exposed_comm{0};    ///< the same
};

struct FoundComm {
    std::int64_t owner = 0;
    std::int64_t step = 0;
    CommKind kind = CommKind::Send;
    Payload payload = Payload::Activation;
    std::int64_t microbatch = 0;
    std::int64_t stage = 0; ///< the consumer's
    TimeNs start{0};
    TimeNs end{0};
    std::int64_t sequence = 0;
    std::int64_t replica = 0;
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
