#pragma once

#include "core/base/sentence.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope {

/// A problem in the data that did not stop loading, with the number of occurrences and the location of the first one.
/// The command line and the app show all diagnostics.
struct Diagnostic {
    std::string kind; ///< stable slug for scripts, such as "truncated", "unmatched-end"
    std::int64_t count = 1;
    Sentence where;   ///< file, and byte offset or event index of the first occurrence
    Sentence message; ///< one sentence, shown to users
};

/// Collects diagnostics; repeats of one kind in one file become a single entry with a count.
class DiagnosticLog {
public:
    DiagnosticLog() = default;
    /// Starts with the entries that take() returned from an earlier log.
    explicit DiagnosticLog(std::vector<Diagnostic> entries) : entries_(std::move(entries)) {}

    void add(std::string kind, Sentence where, Sentence message, std::int64_t count = 1);
    [[nodiscard]] const std::vector<Diagnostic>& entries() const { return entries_; }
    [[nodiscard]] std::vector<Diagnostic> take() { return std::move(entries_); }

private:
    std::vector<Diagnostic> entries_;
};

} // namespace bubblescope
