#pragma once

#include "core/formats/perfetto/capture_names.h"
#include "core/formats/read_trace.h"

#include <map>
#include <string>

namespace bubblescope::test {

/// Number of slices in the traces of a folder, by name.
inline Result<std::map<std::string, int>> slicesIn(const std::string& folder) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(const auto read, readTraces({folder}, control));
    std::map<std::string, int> names;
    const Trace& trace = *read.trace;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.category(slice) == perfetto::kCaptureCategory) continue; // excludes the load of the machine
        ++names[std::string(trace.name(slice))];
    }
    return names;
}

} // namespace bubblescope::test
