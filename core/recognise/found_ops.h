#pragma once

#include "core/base/diagnostic.h"
#include "core/base/time.h"
#include "core/schedule/op.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

/// An op as a rule found it, in the trace's own numbering.
struct FoundOp {
    std::int64_t home = 0; ///< who ran it: a pipeline rank, or a global rank of which there is one per place
    std::int64_t step = 0;
    OpKind kind = OpKind::Forward;
    std::int64_t microbatch = 0;
    std::int64_t part = 0; ///< chunk or stage, see FoundOps::parts
    TimeNs start{0};
    TimeNs end{0};
    TimeNs lateness{0};
    std::int64_t sequence = 0; ///< slice of the sequence
    bool overlapped = false;   ///< half of a pair; the other half has the same times
    std::int64_t replica = 0;  ///< which of several equal pipelines (data parallelism)
    TimeNs device_idle{0};     ///< see TimelineOp
};

struct FoundComm {
    std::int64_t home = 0;
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

/// What `part` counts.
enum class Parts {
    Chunks,   ///< a rank's local parts; homes are pipeline ranks 0 … p−1
    Stages,   ///< global; who holds which tells ranks and chunks
    OneAHome, ///< every home holds one stage; homes in ascending order are the ranks
};

struct FoundOps {
    Parts parts = Parts::Chunks;
    std::vector<FoundOp> ops;
    std::vector<FoundComm> comm;
    std::optional<RunInfo> info;
};

/// One way in which traces spell pipeline ops.
struct Rule {
    std::string_view name;   ///< shown as the way the ops were recognised
    std::string_view format; ///< what it makes of the file's format; empty = nothing
    std::string_view looks_for;
    FoundOps (*find)(const Trace&, DiagnosticLog&);
};

/// In the order in which they are tried; the first that finds an op is right.
[[nodiscard]] std::span<const Rule> recognitionRules();

[[nodiscard]] FoundOps findOwnOps(const Trace& trace, DiagnosticLog& log);
[[nodiscard]] FoundOps findMegatronOps(const Trace& trace, DiagnosticLog& log);
[[nodiscard]] FoundOps findTorchActions(const Trace& trace, DiagnosticLog& log);
[[nodiscard]] FoundOps findTorchGPipe(const Trace& trace, DiagnosticLog& log);
[[nodiscard]] FoundOps findStragglerOps(const Trace& trace, DiagnosticLog& log);
[[nodiscard]] FoundOps findPaddleOps(const Trace& trace, DiagnosticLog& log);
[[nodiscard]] FoundOps findTorchDump(const Trace& trace, DiagnosticLog& log);
[[nodiscard]] FoundOps findNvtxOps(const Trace& trace, DiagnosticLog& log);
/// For traces without annotations: forwards and backwards told apart by what PyTorch records of autograd, numbered in
/// their order between sends and receives.
[[nodiscard]] FoundOps inferTorchOps(const Trace& trace, DiagnosticLog& log);

} // namespace bubblescope
