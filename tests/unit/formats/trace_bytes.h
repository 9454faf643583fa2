#pragma once

#include "core/formats/read_trace.h"
#include "tests/support/scratch_folder.h"

#include <string_view>
#include <vector>

namespace bubblescope::test {

inline Result<ReadTraces> readBytes(const ScratchFolder& folder, std::string_view bytes) {
    JobControl control;
    const auto file = folder.write("trace", bytes);
    auto result = readTraces({file}, control);
    std::filesystem::remove(file); // because overwriting waits for the disk on some file systems
    return result;
}

inline std::int64_t countOf(const std::vector<Diagnostic>& problems, std::string_view kind) {
    std::int64_t count = 0;
    for (const Diagnostic& problem : problems)
        count += problem.kind == kind ? problem.count : 0;
    return count;
}

/// First slice with this name; kNoId if there is none.
inline SliceId findSlice(const Trace& trace, std::string_view name) {
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.name(slice) == name) return slice;
    }
    return kNoId;
}

} // namespace bubblescope::test
