#include "core/base/diagnostic.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

void DiagnosticLog::add(std::string kind, Sentence where, Sentence message, std::int64_t count) {
    // The message is part of the key: entries of one kind with different messages are not merged.
    const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Diagnostic& entry) {
        return entry.kind == kind && entry.message == message;
    });
    if (known != entries_.end()) {
        known->count += count;
        return;
    }
    entries_.push_back({std::move(kind), count, std::move(where), std::move(message)});
}

} // namespace bubblescope
