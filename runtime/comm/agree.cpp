#include "runtime/comm/agree.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

Status agree(Status own, ProcessTeam& team) {
    const std::vector<std::string> same(static_cast<std::size_t>(team.size()),
                                        own.ok() ? std::string() : own.error().text());
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team.exchange(same));
    if (!own.ok()) return own;
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (!all[r].empty()) return runError(fmt::format("rank {} cannot begin: {}", r, all[r]));
    }
    return {};
}

} // namespace bubblescope::runtime
