#pragma once

#include "core/analysis/report.h"
#include "core/base/result.h"

#include <filesystem>
#include <optional>
#include <string>

namespace bubblescope {

struct RunPageOptions {
    /// Index into RunReport::steps of the step that is shown rank by rank; the typical one if not given.
    std::optional<std::size_t> step;
    std::size_t most_rows = 64; ///< ranks that are drawn; the page says so when there are more
    std::string version;        ///< of the program, for the foot of the page
};

/// A report for a colleague who has neither the program nor the trace: one HTML file with the pictures in it.
/// `report` is of `run`.
[[nodiscard]] std::string runPage(const Run& run, const RunReport& report, const RunPageOptions& options);

/// The same, as a file. An existing one is replaced only when the new one is complete.
[[nodiscard]] Status writeRunPage(const std::filesystem::path& file, const Run& run, const RunReport& report,
                                  const RunPageOptions& options);

} // namespace bubblescope
