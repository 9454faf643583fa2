#pragma once

#include "core/recognise/found_ops.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bubblescope {

/// A user annotation of a PyTorch profiler trace.
struct Annotation {
    std::string_view name;
    TimeNs start{0};
    TimeNs end{0};
};

/// The annotations of one rank, by start, with those apart that have a meaning of their own.
struct RankAnnotations {
    std::int64_t rank = 0;
    std::uint32_t file = 0; ///< of the trace; the last, if several are of this rank
    std::vector<Annotation> scopes;
    std::vector<Annotation> receives; ///< gloo:recv: from the call to the arrival, across other scopes
    struct Step {
        std::int64_t index;
        TimeNs start;
        TimeNs end;
    };
    std::vector<Step> steps; ///< ProfilerStep#N
};

/// Per rank, ascending. Files that do not say which rank wrote them are numbered in their order.
[[nodiscard]] std::vector<RankAnnotations> torchAnnotations(const Trace& trace, DiagnosticLog& log);

/// Tells in which step things of one rank happen: by ProfilerStep#N, or where the trace has none by how
/// often the same op was seen before.
class StepFinder {
public:
    StepFinder(const RankAnnotations& rank, DiagnosticLog& log) : rank_(rank), log_(log) {}

    /// Nothing (and a diagnostic) for what lies between the profiler's steps. Ask in order of time.
    [[nodiscard]] std::optional<std::int64_t> stepOf(const Annotation& scope);

private:
    const RankAnnotations& rank_;
    DiagnosticLog& log_;
    std::unordered_map<std::string_view, std::int64_t> seen_;
};

/// The end of the last receive that was posted in [from, to].
[[nodiscard]] std::optional<Annotation> receivePostedIn(const RankAnnotations& rank, TimeNs from, TimeNs to);

/// On CPU with gloo an op's scope contains the wait for its input: cuts [op.start, arrival) off the op and
/// records it as a wait.
void cutWait(FoundOp& op, TimeNs arrival, std::int64_t stage, std::vector<FoundComm>& comm);

/// "Optimizer.step#…" as the op O.
[[nodiscard]] std::optional<FoundOp> optimizerOp(const Annotation& scope);

} // namespace bubblescope
