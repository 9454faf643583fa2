#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <string_view>

namespace bubblescope::snapshot {

/// True if a file starts like a pickle of protocol 2 to 5.
[[nodiscard]] bool looksLikePickle(std::string_view beginning);

/// Reads a snapshot of PyTorch's memory (torch.cuda.memory._dump_snapshot()) into the builder's current file, as a
/// counter "allocated memory" per device. The history of a snapshot ends with the state that it describes, so the
/// memory allocated before the start of the history can be computed from that state. Times are on the host's clock.
/// Errors: Input.
[[nodiscard]] Status readSnapshot(std::string_view bytes, const std::string& where, TraceBuilder& builder,
                                  DiagnosticLog& log);

} // namespace bubblescope::snapshot
