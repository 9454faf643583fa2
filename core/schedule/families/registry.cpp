#include "core/schedule/families/registry.h"

#include "core/schedule/families/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace bubblescope {
namespace {

/// A larger order does not fit into memory.
constexpr std::int64_t kMaxOps = 200'000'000;

Error unknownFamily(std::string_view name) {
    std::vector<std::string_view> names;
    for (const ScheduleFamily& family : scheduleFamilies())
        names.push_back(family.name);
    return usageError(fmt::format("unknown schedule '{}'", name), fmt::format("known: {}", fmt::join(names, ", ")));
}

Status checkSizes(const ScheduleSpec& spec) {
    if (spec.pp < 1) return usageError(fmt::format("--pp {} is not a number of ranks", spec.pp), "give 1 or more");
    if (spec.microbatches < 1) {
        return usageError(fmt::format("--microbatches {} is not a number of micro-batches", spec.microbatches),
                          "give 1 or more");
    }
    if (spec.vpp < 1) return usageError(fmt::format("--vpp {} is not a number of chunks", spec.vpp), "give 1 or more");
    const std::int64_t chunks = std::int64_t{spec.pp} * spec.vpp;
    if (chunks > kMaxOps / spec.microbatches / 2) {
        return usageError("the schedule would have more than 200 million ops", "lower --pp, --microbatches or --vpp");
    }
    const ActivationSizes& sizes = spec.sizes;
    if (sizes.input_grad < 0 || sizes.weight_grad < 1 || sizes.forward != sizes.input_grad + sizes.weight_grad) {
        return usageError("the two gradients must free together what a forward takes, the weight gradient some of it");
    }
    return {};
}

} // namespace

std::span<const ScheduleFamily> scheduleFamilies() {
    static const std::array kFamilies{fThenBFamily(),
                                      oneFOneBFamily(),
                                      eager1F1BFamily(),
                                      interleaved1F1BFamily(),
                                      interleavedFThenBFamily(),
                                      vppBalancedMemoryFamily(),
                                      loopedBfsFamily(),
                                      zbH1Family(),
                                      zbH2Family(),
                                      interleavedZbFamily(),
                                      zbVFamily(),
                                      vHalfFamily(),
                                      vMinFamily(),
                                      v1F1BFamily(),
                                      oneFOneBOverlapFamily(),
                                      interleavedOverlapFamily(),
                                      seq1F1BFamily(),
                                      dualPipeVFamily(),
                                      dualPipeFamily(),
                                      chimeraFamily(),
                                      bitPipeFamily(),
                                      hanayoFamily(),
                                      zbAutoFamily()};
    return kFamilies;
}

const ScheduleFamily* findScheduleFamily(std::string_view name) {
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (family.name == name || std::ranges::find(family.aliases, name) != family.aliases.end()) return &family;
    }
    return nullptr;
}

Result<Schedule> makeSchedule(const ScheduleSpec& spec) {
    const ScheduleFamily* const family = findScheduleFamily(spec.name);
    if (family == nullptr) return unknownFamily(spec.name);
    BUBBLESCOPE_TRY(checkSizes(spec));
    ScheduleSpec full = spec;
    full.name = family->name;
    if (full.flavor.empty() && !family->flavors.empty()) full.flavor = family->flavors.front();
    if (!full.flavor.empty() && std::ranges::find(family->flavors, full.flavor) == family->flavors.end()) {
        return usageError(fmt::format("{} has no flavor '{}'", full.name, full.flavor),
                          family->flavors.empty() ? "leave --flavor out"
                                                  : fmt::format("known: {}", fmt::join(family->flavors, ", ")));
    }
    return family->generate(full);
}

} // namespace bubblescope
