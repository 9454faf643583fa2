#include "core/timeline/check_record.h"

#include <array>
#include <cstddef>

namespace bubblescope {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 6> kKindNames{"replay",   "known-answer", "transfer",
                                                     "replicas", "weights",      "elsewhere"};
constexpr std::array<std::string_view, 4> kOutcomes{"equal", "mismatch", "aborted", "skipped"};
constexpr std::array<std::string_view, 4> kVerdicts{"open", "transient", "device", "everywhere"};

template <typename Value, std::size_t N>
std::optional<Value> parse(const std::array<std::string_view, N>& names, std::string_view name) {
    for (std::size_t i = 0; i < N; ++i) {
        if (names[i] == name) return static_cast<Value>(i);
    }
    return std::nullopt;
}

} // namespace

std::string_view checkKindName(CheckKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}
std::string_view checkOutcomeName(CheckOutcome outcome) {
    return kOutcomes[static_cast<std::size_t>(outcome)];
}
std::string_view verdictName(Verdict verdict) {
    return kVerdicts[static_cast<std::size_t>(verdict)];
}

std::optional<CheckKind> parseCheckKind(std::string_view name) {
    return parse<CheckKind>(kKindNames, name);
}
std::optional<CheckOutcome> parseCheckOutcome(std::string_view name) {
    return parse<CheckOutcome>(kOutcomes, name);
}
std::optional<Verdict> parseVerdict(std::string_view name) {
    return parse<Verdict>(kVerdicts, name);
}

} // namespace bubblescope
