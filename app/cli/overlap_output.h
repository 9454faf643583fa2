#pragma once

#include "app/cli/output.h"
#include "core/optimize/overlap/study.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// What the `overlap` command found.
struct OverlapStudy {
    struct Entry {
        overlap::PairStudy pair;
        overlap::StepRun paddle_order; ///< warm-up of p−s forwards
        overlap::StepRun deeper_order; ///< warm-up of 2(p−s−1)+1 forwards
    };

    overlap::OpCosts costs;
    int pp = 1;
    int microbatches = 1;
    std::vector<Entry> entries; ///< one per variant; the first hides nothing

    [[nodiscard]] const Entry& of(std::string_view variant) const;
};

[[nodiscard]] std::string overlapText(const OverlapStudy& study, std::string_view explained);
[[nodiscard]] std::string overlapChart(const OverlapStudy& study, std::string_view variant, int width);
[[nodiscard]] Json overlapJson(const OverlapStudy& study);

} // namespace bubblescope::cli
