#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace_builder.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope::primus {

/// True if a file starts like a pipeline record of AMD's Primus: a JSON object of iterations with lists of start and
/// end times.
[[nodiscard]] bool looksLikeRecord(std::string_view beginning);

/// Reads one rank's record (pp_rank_N.json) into the builder's current file: forwards and backwards of category
/// "primus", named F3.1 by micro-batch and chunk, with the arg "iteration", and the rank's peak memory as a counter.
/// The record contains neither micro-batches nor chunks. The k-th forward is that of micro-batch k. If a config.json in
/// the same folder specifies several chunks, forwards follow Megatron-core's interleaved order. Iterations are spaced
/// as in pp_rank_0.json in that folder, because rank 0 ends last. `file` is empty for standard input. Errors: Input.
[[nodiscard]] Status readRecord(std::string_view text, const std::filesystem::path& file, const std::string& where,
                                TraceBuilder& builder, DiagnosticLog& log);

} // namespace bubblescope::primus
