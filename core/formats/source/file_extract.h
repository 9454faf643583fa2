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

/// Data that an extract keeps of its original trace file besides its slices: the problems found when that file was
/// read, and the values that recognition and analysis derive from raw slices (the extractors of
/// core/recognise/raw_trace.h), so that the raw slices are not needed again.
struct FileExtract {
    /// A value in the form of base/wire.h, compressed.
    struct Packed {
        std::uint64_t size = 0; ///< before it was compressed
        std::string bytes;
    };

    TraceFile file;     ///< as it was read: format, rank, host, groups; `path` is the original's
    TraceExtent extent; ///< over all events
    std::uint64_t slices = 0;
    std::vector<Diagnostic> read_problems;             ///< from reading the file
    std::vector<Diagnostic> problems;                  ///< from building a trace
    FlowEnds flows;                                    ///< file indices count from this file
    std::set<std::string> rules;                       ///< keys of the recognition rules that were applied
    std::map<std::string, Packed, std::less<>> values; ///< by key; values equal to the default are left out

    /// Compresses a value.
    void put(const std::string& key, std::string_view value);
    /// A value; nothing if there is none. Error: Input if it is damaged.
    [[nodiscard]] Result<std::optional<std::string>> value(std::string_view key, const std::string& where) const;

    [[nodiscard]] std::string encoded() const;
    /// `where` names the file in errors: Input if the bytes are damaged or of another version of the format.
    [[nodiscard]] static Result<FileExtract> decoded(std::string_view bytes, const std::string& where);
};

[[nodiscard]] Error damagedExtract(const std::string& where);

/// The number of slices that a trace's files recorded; for an extract, those of the original.
[[nodiscard]] std::size_t recordedSlices(const Trace& trace);

} // namespace bubblescope
