#include "core/schedule/schedule.h"

namespace bubblescope {

std::size_t Schedule::opCount() const {
    std::size_t count = 0;
    for (const auto& ops : ranks)
        count += ops.size();
    return count;
}

} // namespace bubblescope
