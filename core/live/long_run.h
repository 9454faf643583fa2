#pragma once

#include "core/analysis/report.h"
#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::live {

/// Recordings of so many bytes are long: a whole run takes about as much memory.
inline constexpr std::uint64_t kLongRecording = std::uint64_t{1} << 30;

/// How much of a run is judged at a time: some steps, and some ops and transfers, or fewer steps that are large.
struct PartLimits {
    std::size_t steps = 256;
    std::size_t records = std::size_t{1} << 20;
    std::size_t large_steps = 32;
    std::size_t large_records = std::size_t{1} << 23;
    std::uint64_t least_bytes = 1; ///< smaller recordings are not judged in parts

    [[nodiscard]] bool isPart(std::size_t of_steps, std::size_t of_records) const {
        return (of_steps >= steps && of_records >= records) || (of_steps >= large_steps && of_records >= large_records);
    }
};

/// Diagnoses a finished recording of Bubblescope's own runs in bounded memory: its files are read step by step, as a
/// monitor reads them, while the steps before are judged part by part, see PartwiseDiagnosis. The raw slices are not
/// kept, so that findings and reports that need them lack them.
///
/// `paths` are folders. Nothing is returned where the run is better loaded whole: it is smaller than a part, was
/// checked (aadiff), was recorded of another program, or holds no step that can be read so. Progress counts bytes.
/// Errors: those of PartwiseDiagnosis::finish(), Run where files cannot be watched, and Cancelled.
[[nodiscard]] Result<std::optional<DiagnosedRun>> diagnoseLongRun(const std::vector<std::filesystem::path>& paths,
                                                                  const DiagnosisOptions& options,
                                                                  const PartLimits& limits, JobControl& control);

} // namespace bubblescope::live
