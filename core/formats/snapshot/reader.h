#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <string_view>

namespace bubblescope::snapshot {

/// True if a file begins like a pickle of protocol 2 to 5.
[[nodiscard]] bool looksLikePickle(std::string_view beginning);

/// Reads a snapshot of PyTorch's memory (torch.cuda.memory._dump_snapshot()) into the builder's current file: per
/// device the counter "allocated memory". Its history ends with the state that the snapshot describes, so the memory
/// that was allocated before the history begins follows from that state. Times are those of the host's clock. Errors:
/// Input.
[[nodiscard]] Status readSnapshot(std::string_view bytes, const std::string& where, TraceBuilder& builder,
                                  DiagnosticLog& log);

} // namespace bubblescope::snapshot
