#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

struct InputFile {
    std::filesystem::path path;
    bool named = false; ///< by the user, not found below a folder
    std::uint64_t bytes = 0;
};

/// The files that paths name or contain. Below folders those whose content looks like a trace, sorted by path with
/// numbers compared as numbers. Errors: Input for a path that does not exist and if nothing is left.
[[nodiscard]] Result<std::vector<InputFile>> findTraceFiles(const std::vector<std::filesystem::path>& paths);

/// The number after the last "rank" in a file's name, as in rank3_trace.json or trace-rank-03.pftrace.
[[nodiscard]] std::optional<std::int32_t> rankInName(std::string_view name);

} // namespace bubblescope
