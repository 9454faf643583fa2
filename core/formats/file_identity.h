#pragma once

#include "core/base/diagnostic.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// Identifies the files of a trace with several files: ranks, contradictory ranks, copies.
namespace bubblescope {

/// The number after the last "rank" in a file name, as in rank3_trace.json or trace-rank-03.pftrace.
[[nodiscard]] std::optional<std::int32_t> rankInName(std::string_view name);

/// The rank according to the file name, the name of a profiler_info_N.json in the same folder or a parent (Ascend), or
/// the names of its folders, as in rank_3/trace.json.
[[nodiscard]] std::optional<std::int32_t> rankAround(const std::filesystem::path& file);

/// Assigns the rank in the name to files without a recorded rank (TraceFile::named_rank). If several files record the
/// same rank but have different ranks in their names, all get the rank in the name (problem "rank-contradiction").
void settleRanks(TraceBuilder& builder, DiagnosticLog& log);

/// Finds files with equal content, such as rank0.json and rank0.json.gz in one folder.
class CopyFinder {
public:
    /// The earlier file with the same content as this one; none for the first. `builder` must contain only this file.
    [[nodiscard]] std::optional<std::filesystem::path> copyOf(TraceBuilder& builder);

private:
    struct Known {
        std::filesystem::path path;
        std::size_t slices = 0;
    };
    std::vector<Known> known_;
    /// Number and print of the slices, rank, rank in the name, and world size.
    using Content = std::tuple<std::size_t, std::uint64_t, std::optional<std::int32_t>, std::optional<std::int32_t>,
                               std::optional<std::int32_t>>;
    // Indices in `known_`, by what copies have in common.
    std::multimap<std::string, std::size_t> by_name_; ///< path without the compression extension
    std::map<Content, std::size_t> by_content_;       ///< the first file of each content
};

} // namespace bubblescope
