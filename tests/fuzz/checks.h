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

/// The name of an input in errors: every error states the file.
inline const std::string kInput = "the-input";

/// A reader did what its header says it never does.
class BrokenPromise : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

void require(bool holds, const char* promise);

/// An error of kind Input, with the name of the input and the fault.
void checkError(const Error& error, std::string_view name = kInput);

/// The promises of Trace: columns and tables of one size, ids in range, slices in order and nested, times within the
/// span. `problems` may say of a trace that its slices could not be nested.
void checkTrace(const Trace& trace, const std::vector<Diagnostic>& problems);

struct Loaded {
    std::shared_ptr<const Trace> trace;
    std::vector<Diagnostic> problems;
};

/// Runs one reader on a builder of its own. The trace is checked; nothing if the reader refused the input. A library
/// that the reader uses may take up to `library_bytes` for any input.
using ReadInput = std::function<Status(TraceBuilder&, DiagnosticLog&, LoadProgress&)>;
[[nodiscard]] std::optional<Loaded> load(std::string_view bytes, const ReadInput& read, std::size_t library_bytes = 0);

} // namespace bubblescope::fuzz
