#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace.h"
#include "core/trace/trace_builder.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::fuzz {

/// Name of the input in errors, because every error must contain the file.
inline const std::string kInput = "the-input";

/// Thrown if a reader violates a guarantee in its header.
class BrokenPromise : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

void require(bool holds, const char* promise);

/// Checks that an error has kind Input and contains the name of the input and the problem.
void checkError(const Error& error, std::string_view name = kInput);

/// Checks the guarantees of Trace: columns and tables of equal size, ids in range, slices in order and nested, times
/// within the span. `problems` may report that slices of the trace could not be nested.
void checkTrace(const Trace& trace, const std::vector<Diagnostic>& problems);

struct Loaded {
    std::shared_ptr<const Trace> trace;
    std::vector<Diagnostic> problems;
};

/// Runs one reader on a new builder and checks the trace; nothing is checked if the reader rejects the input. For any
/// input, the reader's library may allocate up to `library_bytes`.
using ReadInput = std::function<Status(TraceBuilder&, DiagnosticLog&, LoadProgress&)>;
[[nodiscard]] std::optional<Loaded> load(std::string_view bytes, const ReadInput& read, std::size_t library_bytes = 0);

} // namespace bubblescope::fuzz
