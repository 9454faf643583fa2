#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/trace/trace_builder.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope::primus {

/// Whether a file begins like a pipeline record of AMD's Primus: a JSON object of iterations with lists of begins and
/// ends.
[[nodiscard]] bool looksLikeRecord(std::string_view beginning);

/// Reads one rank's record (pp_rank_N.json) into the builder's current file: forwards and backwards of category
/// "primus", named F3.1 by micro-batch and chunk, with the arg "iteration", and the rank's peak memory as a counter.
/// The record states neither micro-batch nor chunk: the k-th forward is that of micro-batch k or, if config.json next
/// to it states several chunks, follows Megatron-core's interleaved order. Iterations follow each other like those of
/// rank 0 next to it, which ends last. `file` is empty for standard input. Errors: Input.
[[nodiscard]] Status readRecord(std::string_view text, const std::filesystem::path& file, const std::string& where,
                                TraceBuilder& builder, DiagnosticLog& log);

} // namespace bubblescope::primus
