#include "core/schedule/size_check.h"

#include <fmt/format.h>

namespace bubblescope {

Status checkSizes(const Schedule& schedule, int slices, const std::string& where) {
    constexpr double kSlack = 100'000;
    const double wanted = static_cast<double>(schedule.stages()) * schedule.microbatches * slices;
    if (wanted <= 4.0 * static_cast<double>(schedule.opCount()) + kSlack) return {};
    return inputError(where,
                      fmt::format("pp, vpp and microbatches call for {:.0f} forwards, the lists hold {} ops", wanted,
                                  schedule.opCount()),
                      "correct the sizes");
}

} // namespace bubblescope
