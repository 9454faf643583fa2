#include "core/cost/transfer_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::array<std::pair<SendMode, std::string_view>, 4> kSendModes{{{SendMode::Asynchronous, "async"},
                                                                           {SendMode::Blocking, "blocking"},
                                                                           {SendMode::Paired, "paired"},
                                                                           {SendMode::Batched, "batched"}}};
constexpr std::array<std::pair<CommStreams, std::string_view>, 4> kCommStreams{
    {{CommStreams::Unlimited, "unlimited"},
     {CommStreams::PerDirection, "direction"},
     {CommStreams::PerLink, "link"},
     {CommStreams::PerRank, "rank"}}};

template <class Table, class Value>
std::string_view nameIn(const Table& table, Value value) {
    return std::ranges::find(table, value, [](const auto& entry) { return entry.first; })->second;
}

template <class Table>
auto valueIn(const Table& table, std::string_view name) {
    const auto found = std::ranges::find(table, name, [](const auto& entry) { return entry.second; });
    return found == table.end() ? std::nullopt : std::optional(found->first);
}

} // namespace

std::string_view sendModeName(SendMode mode) {
    return nameIn(kSendModes, mode);
}

std::optional<SendMode> sendModeFromName(std::string_view name) {
    return valueIn(kSendModes, name);
}

std::string_view commStreamsName(CommStreams streams) {
    return nameIn(kCommStreams, streams);
}

std::optional<CommStreams> commStreamsFromName(std::string_view name) {
    return valueIn(kCommStreams, name);
}

bool TransferModel::plain() const {
    const bool sized = activation_bytes > 0 || gradient_bytes > 0;
    const bool bytes_free = !sized || (!bytes_per_second && std::ranges::none_of(links, [](const Link& link) {
        return link.bytes_per_second.has_value();
    }));
    const bool latency_everywhere =
        std::ranges::none_of(links, [](const Link& link) { return link.latency.has_value(); });
    return bytes_free && latency_everywhere && streams == CommStreams::Unlimited && sends == SendMode::Asynchronous &&
           !on_compute_stream;
}

TimeNs transmissionTime(std::int64_t bytes, std::int64_t bytes_per_second) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const std::int64_t whole = bytes / bytes_per_second;
    constexpr std::int64_t kMost = INT64_MAX / 4 / kSecond; // 73 years; beyond it nothing could be added up
    if (whole >= kMost) return TimeNs{kMost * kSecond};
    // Less than a second is left; its share is exact in long double for any rate below 2^63.
    const auto rest = static_cast<long double>(bytes % bytes_per_second) * kSecond;
    const auto ns = static_cast<std::int64_t>(std::ceil(rest / static_cast<long double>(bytes_per_second)));
    return TimeNs{whole * kSecond + ns};
}

} // namespace bubblescope
