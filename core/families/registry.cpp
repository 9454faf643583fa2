#include "core/families/registry.h"

#include "core/base/field.h"
#include "core/base/suggestion.h"
#include "core/families/families.h"
#include "core/schedule/moving_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

namespace bubblescope {
namespace {

/// Larger orders would not fit into memory.
constexpr std::int64_t kMaxOps = 200'000'000;

/// A framework's name for a schedule: a class of PyTorch or DeepSpeed, a function of Megatron-core.
struct FrameworkName {
    std::string_view name; ///< in the form of plainName()
    std::string_view family;
    std::string_view flavor = {};
};

constexpr std::array<FrameworkName, 13> kFrameworkNames{{
    {"schedulegpipe", "fthenb"},
    {"schedule1f1b", "1f1b"},
    {"scheduleinterleaved1f1b", "interleaved", "torch"},
    {"scheduleloopedbfs", "looped-bfs", "torch"},
    {"scheduleinterleavedzerobubble", "interleaved-zb"},
    {"interleavedzerobubble", "interleaved-zb"},
    {"schedulezbvzerobubble", "zb-v", "torch"},
    {"zbvzerobubble", "zb-v", "torch"},
    {"scheduledualpipev", "dualpipev", "torch"},
    {"forwardbackwardpipeliningwithoutinterleaving", "1f1b"},
    {"forwardbackwardpipeliningwithinterleaving", "interleaved", "megatron"},
    {"trainschedule", "1f1b"},
    {"pipedreamflush", "1f1b"},
}};

const FrameworkName* findFrameworkName(std::string_view name) {
    const auto found = std::ranges::find(kFrameworkNames, plainName(name), &FrameworkName::name);
    return found == kFrameworkNames.end() ? nullptr : &*found;
}

/// The family for which the name, or a framework's name, is the closest.
std::string closestFamily(std::string_view name, std::vector<std::string> names) {
    const std::size_t own = names.size();
    for (const FrameworkName& known : kFrameworkNames) {
        std::string_view word = known.name;
        names.emplace_back(word);
        constexpr std::string_view kClass = "schedule";
        if (word.starts_with(kClass)) names.emplace_back(word.substr(kClass.size()));
    }
    const std::string plain = plainName(name);
    std::vector<std::string> plain_names;
    std::ranges::transform(names, std::back_inserter(plain_names), [](const auto& each) { return plainName(each); });
    const std::string closest = closestName(plain, plain_names);
    if (closest.empty()) return {};
    const auto at = static_cast<std::size_t>(std::ranges::find(plain_names, closest) - plain_names.begin());
    if (at < own) return names[at];
    const FrameworkName* known = findFrameworkName(closest);
    if (known == nullptr) known = findFrameworkName("schedule" + closest);
    return std::string(known->family);
}

/// The flavor of the family with the same name except for case, '-' and '_'. Empty if there is none.
std::string_view matchingFlavor(const ScheduleFamily& family, std::string_view word) {
    const std::string plain = plainName(word);
    const auto found =
        std::ranges::find_if(family.flavors, [&plain](std::string_view flavor) { return plainName(flavor) == plain; });
    return found == family.flavors.end() ? std::string_view() : *found;
}

Status checkSizes(const ScheduleSpec& spec) {
    if (spec.pp == 0)
        return usageError("the number of pipeline ranks is missing", fmt::format("specify {}", Field("pp").is("P")));
    if (spec.microbatches == 0)
        return usageError("the number of micro-batches is missing",
                          fmt::format("specify {}", Field("microbatches").is("M")));
    if (spec.pp < 1)
        return usageError(fmt::format("{} is not a valid number of ranks", Field("pp").is(spec.pp)), "use 1 or more");
    if (spec.microbatches < 1) {
        return usageError(
            fmt::format("{} is not a valid number of micro-batches", Field("microbatches").is(spec.microbatches)),
            "use 1 or more");
    }
    if (spec.vpp < 1)
        return usageError(fmt::format("{} is not a valid number of chunks", Field("vpp").is(spec.vpp)),
                          "use 1 or more");
    const std::int64_t chunks = std::int64_t{spec.pp} * spec.vpp;
    if (chunks > kMaxOps / spec.microbatches / 2) {
        return usageError("the schedule would have more than 200 million ops",
                          fmt::format("reduce {}, {} or {}", Field("pp"), Field("microbatches"), Field("vpp")));
    }
    if (const Encoders encoders = spec.encoders; encoders.ranks() != 0) {
        if (encoders.first < 1 || encoders.second < 0 || encoders.depth() > kMaxEncoderRanks) {
            return usageError("not sizes of one or two encoders",
                              fmt::format("use 1 to {} pipeline ranks for each", kMaxEncoderRanks));
        }
        if (encoders.ranks() >= spec.pp) {
            return usageError(fmt::format("the encoders have {} of {} pipeline ranks, which leaves none for the trunk",
                                          encoders.ranks(), spec.pp),
                              fmt::format("use more for {}: it counts the ranks of the encoders too", Field("pp")));
        }
    }
    const ActivationSizes& sizes = spec.sizes;
    if (sizes.input_grad < 0 || sizes.weight_grad < 1 || sizes.forward != sizes.input_grad + sizes.weight_grad) {
        return usageError("the two gradients must together free everything that a forward allocates, and the weight "
                          "gradient must free part of it");
    }
    return {};
}

Error unknownFlavor(const ScheduleFamily& family, const std::string& flavor) {
    const std::vector<std::string> names(family.flavors.begin(), family.flavors.end());
    if (names.empty())
        return usageError(fmt::format("{} has no flavor '{}'", family.name, flavor),
                          fmt::format("omit {}", Field("flavor")));
    const std::string closest = closestName(flavor, names);
    return usageError(fmt::format("{} has no flavor '{}'", family.name, flavor),
                      closest.empty() ? fmt::format("known: {}", fmt::join(names, ", "))
                                      : fmt::format("did you mean '{}'? Known: {}", closest, fmt::join(names, ", ")));
}

/// The flavor that a spec names: the family's spelling if it has that flavor, otherwise as written.
std::string flavorOf(const ScheduleSpec& spec, const ScheduleFamily& family) {
    const FrameworkName* const framework = findFrameworkName(spec.name);
    std::string flavor = spec.flavor;
    if (flavor.empty() && framework != nullptr) flavor = framework->flavor;
    if (flavor.empty() && !family.flavors.empty()) flavor = family.flavors.front();
    const std::string_view known = matchingFlavor(family, flavor);
    return known.empty() ? flavor : std::string(known);
}

bool usesPart(const ScheduleFamily& family, std::string_view flavor, SpecPart part) {
    const auto used = std::ranges::find(family.uses, part, &UsedPart::part);
    if (used == family.uses.end()) return false;
    return used->flavors.empty() || std::ranges::find(used->flavors, flavor) != used->flavors.end();
}

/// Lists the families and flavors that use a part: "zb-v (greedy, paddle), zb-auto".
std::string familiesThatUse(SpecPart part) {
    std::vector<std::string> names;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        const auto used = std::ranges::find(family.uses, part, &UsedPart::part);
        if (used == family.uses.end()) continue;
        names.push_back(used->flavors.empty() ? std::string(family.name)
                                              : fmt::format("{} ({})", family.name, fmt::join(used->flavors, ", ")));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

Status checkUsedPart(SpecPart part, Field field, std::span<const FamilyFlavor> families) {
    std::vector<std::string> names;
    for (const FamilyFlavor& one : families) {
        const ScheduleFamily* const family = findScheduleFamily(one.name);
        if (family == nullptr) continue;
        const std::string flavor = flavorOf({.name = one.name, .flavor = one.flavor}, *family);
        if (usesPart(*family, flavor, part)) return {};
        names.push_back(family->flavors.size() > 1 ? fmt::format("{} ({})", family->name, flavor)
                                                   : std::string(family->name));
    }
    return usageError(fmt::format("{} has no effect on {}", field, fmt::join(names, ", ")),
                      fmt::format("omit {}, or use one of: {}", field, familiesThatUse(part)));
}

} // namespace

Status checkUsedParts(const ScheduleSpec& spec, std::span<const FamilyFlavor> families) {
    const ActivationSizes usual;
    const bool sized = spec.sizes.forward != usual.forward || spec.sizes.input_grad != usual.input_grad;
    const std::array given{std::tuple(SpecPart::GroupSize, Field("group_size"), spec.group_size != 0),
                           std::tuple(SpecPart::MemoryLimit, Field("memory_limit"), spec.memory_limit != 0),
                           std::tuple(SpecPart::SequenceSlices, Field("sequence_slices"), spec.sequence_slices != 1),
                           std::tuple(SpecPart::ActivationSizes, Field("activation_sizes"), sized),
                           std::tuple(SpecPart::Encoders, Field("encoders"), spec.encoders.ranks() != 0)};
    for (const auto& [part, field, is_given] : given) {
        if (is_given) BUBBLESCOPE_TRY(checkUsedPart(part, field, families));
    }
    return {};
}

std::span<const ScheduleFamily> scheduleFamilies() {
    static const std::array kFamilies{fThenBFamily(),
                                      oneFOneBFamily(),
                                      eager1F1BFamily(),
                                      interleaved1F1BFamily(),
                                      interleavedFThenBFamily(),
                                      vppBalancedMemoryFamily(),
                                      loopedBfsFamily(),
                                      circularFamily(),
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
                                      seqPipeFamily(),
                                      seqVppFamily(),
                                      seqSmartVppFamily(),
                                      dualPipeVFamily(),
                                      dualPipeFamily(),
                                      stpFamily(),
                                      chimeraFamily(),
                                      bitPipeFamily(),
                                      hanayoFamily(),
                                      zbAutoFamily(),
                                      pipeDream2BwFamily(),
                                      pipeDreamFamily()};
    return kFamilies;
}

std::vector<std::string_view> flavorsOf(const ScheduleFamily& family) {
    return family.flavors.empty() ? std::vector<std::string_view>{""} : family.flavors;
}

const ScheduleFamily* findScheduleFamily(std::string_view name) {
    const std::string plain = plainName(name);
    const FrameworkName* const framework = findFrameworkName(name);
    const auto matches = [&](std::string_view known) {
        return framework != nullptr ? known == framework->family : plainName(known) == plain;
    };
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (matches(family.name) || std::ranges::any_of(family.aliases, matches)) return &family;
    }
    return nullptr;
}

Error unknownSchedule(std::string_view name) {
    const auto moving = std::ranges::find(kMovingNames, plainName(name), &plainName);
    if (moving != kMovingNames.end())
        return usageError(
            fmt::format("this command does not support {}, in which stages do not belong to ranks", *moving),
            "`bubblescope simulate` and `bubblescope run` support it");
    std::vector<std::string> names;
    for (const ScheduleFamily& family : scheduleFamilies())
        names.emplace_back(family.name);
    const std::string known = fmt::format("{}", fmt::join(names, ", "));
    names.insert(names.end(), kMovingNames.begin(), kMovingNames.end());
    const std::string closest = closestFamily(name, names);
    return usageError(fmt::format("unknown schedule '{}'", name),
                      closest.empty() ? fmt::format("known: {}", known)
                                      : fmt::format("did you mean '{}'? Known: {}", closest, known));
}

Result<Schedule> makeSchedule(const ScheduleSpec& spec) {
    const ScheduleFamily* const family = findScheduleFamily(spec.name);
    if (family == nullptr) return unknownSchedule(spec.name);
    BUBBLESCOPE_TRY(checkSizes(spec));
    ScheduleSpec full = spec;
    full.name = family->name;
    full.flavor = flavorOf(spec, *family);
    if (!full.flavor.empty() && matchingFlavor(*family, full.flavor).empty())
        return unknownFlavor(*family, full.flavor);
    return family->generate(full);
}

int usualChunks(std::string_view name, std::string_view flavor) {
    // The limits of v do not depend on other sizes: either a small order with v chunks exists or none does.
    const auto makes = [&](int chunks) {
        constexpr int kRanks = 4;
        return std::ranges::any_of(std::array{kRanks, 2 * kRanks}, [&](int microbatches) {
            return makeSchedule({.name = std::string(name),
                                 .flavor = std::string(flavor),
                                 .pp = kRanks,
                                 .microbatches = microbatches,
                                 .vpp = chunks})
                .ok();
        });
    };
    return !makes(1) && makes(2) ? 2 : 1;
}

} // namespace bubblescope
