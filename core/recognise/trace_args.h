#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// One set of args of a loaded trace, for what reads named values (native_args.h). The trace must outlive it.
struct TraceArgs {
    const Trace& trace;
    ArgSetId args;

    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const { return trace.intArg(args, name); }
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const { return trace.textArg(args, name); }
};

} // namespace bubblescope
