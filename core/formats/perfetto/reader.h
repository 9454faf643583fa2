#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>

namespace bubblescope::perfetto {

/// Reads the track events of a Perfetto trace into the builder's current file: slices, instants, counters, flows, args
/// and the names of processes and threads. Counts other kinds of packets in the log. A packet truncated by a crash ends
/// reading, with a diagnostic. Corrupt packets inside the file are omitted and counted; slices still open at the end
/// are counted too. Args are left in the file if possible. `where` is the name of the file. Errors: Input if there is
/// no complete packet; Cancelled.
[[nodiscard]] Status readPerfetto(const FileBytes& file, const std::string& where, TraceBuilder& builder,
                                  DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::perfetto
