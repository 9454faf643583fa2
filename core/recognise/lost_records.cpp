#include "core/recognise/lost_records.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace bubblescope {

bool meansLostRecords(const Diagnostic& problem) {
    constexpr std::array<std::string_view, 11> kLost{"truncated",     "corrupt",    "bad-packet",      "bad-event",
                                                     "unusable-file", "lost-names", "unmatched-begin", "unmatched-end",
                                                     "lost-records",  "dropped",    "not-a-table"};
    return std::ranges::find(kLost, problem.kind) != kLost.end();
}

} // namespace bubblescope
