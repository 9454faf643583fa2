#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/dangling_flows.h"
#include "core/trace/trace.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Data that an extract stores in addition to its slices: the problems found when the original trace file was read, and
/// the values that recognition and analysis derive from raw slices (see core/recognise/raw_trace.h). With this data,
/// the raw slices are not needed again.
struct FileExtract {
    /// A compressed value in the format of base/wire.h.
    struct Packed {
        std::uint64_t size = 0; ///< uncompressed size in bytes
        std::string bytes;
    };

    TraceFile file;     ///< format, rank, host, groups; `path` is that of the original
    TraceExtent extent; ///< time range of all events
    std::uint64_t slices = 0;
    std::vector<Diagnostic> read_problems;             ///< problems found while reading the file
    std::vector<Diagnostic> problems;                  ///< problems found while building the trace
    FlowEnds flows;                                    ///< file indices are relative to this file
    std::set<std::string> rules;                       ///< keys of the recognition rules that were applied to the file
    std::map<std::string, Packed, std::less<>> values; ///< values by key; default values are left out

    /// Compresses a value.
    void put(const std::string& key, std::string_view value);
    /// The value of a key; none if the key is missing. Error: Input if the value is corrupt.
    [[nodiscard]] Result<std::optional<std::string>> value(std::string_view key, const std::string& where) const;

    [[nodiscard]] std::string encoded() const;
    /// `where` names the file in messages. Errors: Input if the bytes are corrupt or in another version of the format.
    [[nodiscard]] static Result<FileExtract> decoded(std::string_view bytes, const std::string& where);
};

[[nodiscard]] Error damagedExtract(const std::string& where);

/// Number of slices recorded in a trace's files; for an extract, those of the original.
[[nodiscard]] std::size_t recordedSlices(const Trace& trace);

} // namespace bubblescope
