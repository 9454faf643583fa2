#include "core/cost/cost_model.h"

#include "core/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
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
    constexpr std::int64_t kLongest = INT64_MAX / 4 / kSecond; // 73 years; sums of longer times would overflow
    if (whole >= kLongest) return TimeNs{kLongest * kSecond};
    // Less than a second remains, and its fraction is exact in long double for any rate below 2^63.
    const auto rest = static_cast<long double>(bytes % bytes_per_second) * kSecond;
    const auto ns = static_cast<std::int64_t>(std::ceil(rest / static_cast<long double>(bytes_per_second)));
    return TimeNs{whole * kSecond + ns};
}

TimeNs CostModel::pairTime(OpKind first, TimeNs first_alone, OpKind second, TimeNs second_alone) const {
    const bool forward_and_gradient = (first == OpKind::Forward && producesInputGradient(second)) ||
                                      (second == OpKind::Forward && producesInputGradient(first));
    if (overlapped && forward_and_gradient) return *overlapped;
    const auto hidden = [this](OpKind kind) {
        return kind == OpKind::Forward || kind == OpKind::BackwardInput ? all_reduce : TimeNs{0};
    };
    return first_alone + second_alone - hidden(first) - hidden(second);
}

TimeNs OpTimes::of(OpKind kind) const {
    switch (kind) {
    case OpKind::Forward: return forward;
    case OpKind::Backward: return backward;
    case OpKind::BackwardInput: return input_grad;
    case OpKind::BackwardWeight: return weight_grad;
    case OpKind::Optimizer: return optimizer;
    }
    return TimeNs{0};
}

TimeNs CostModel::transferTime(Payload payload, Rank from, Rank to) const {
    TimeNs latency = comm;
    std::optional<std::int64_t> bandwidth = transfers.bytes_per_second;
    for (const Link& link : transfers.links) {
        if (link.from != from || link.to != to) continue;
        latency = link.latency.value_or(latency);
        if (link.bytes_per_second) bandwidth = link.bytes_per_second;
    }
    const std::int64_t bytes = payload == Payload::Activation ? transfers.activation_bytes : transfers.gradient_bytes;
    // Times at this limit overflow in a timeline, where this is detected; the sum here must not overflow.
    latency = std::min(latency, TimeNs{std::numeric_limits<std::int64_t>::max() / 2});
    return bandwidth ? latency + transmissionTime(bytes, *bandwidth) : latency;
}

Result<OpTimes> makeOpTimes(TimeNs forward, std::optional<TimeNs> backward, std::optional<TimeNs> input_grad,
                            std::optional<TimeNs> weight_grad, TimeNs optimizer) {
    // Exact values, so that readers can add them.
    const auto inNs = [](TimeNs time) { return fmt::format("{}ns", time.count()); };
    if (backward && input_grad && weight_grad && *input_grad + *weight_grad != *backward) {
        return usageError(fmt::format("{} is not {} plus {}", Field("backward").is(inNs(*backward)),
                                      Field("input_grad").is(inNs(*input_grad)),
                                      Field("weight_grad").is(inNs(*weight_grad))),
                          "specify two of the three");
    }
    if (backward) {
        if (input_grad && !weight_grad) weight_grad = *backward - *input_grad;
        if (weight_grad && !input_grad) input_grad = *backward - *weight_grad;
        if (!weight_grad) weight_grad = *backward / 2;
        if (!input_grad) input_grad = *backward - *weight_grad;
    }
    if (!input_grad || !weight_grad) {
        return usageError("the backward's time is missing", fmt::format("specify {}, or {} and {}", Field("backward"),
                                                                        Field("input_grad"), Field("weight_grad")));
    }
    if (input_grad->count() < 0 || weight_grad->count() < 0) {
        return usageError("one half of the backward is longer than the whole",
                          fmt::format("increase {}", Field("backward")));
    }
    return OpTimes{.forward = forward,
                   .backward = *input_grad + *weight_grad,
                   .input_grad = *input_grad,
                   .weight_grad = *weight_grad,
                   .optimizer = optimizer};
}

OpTimes meanTimes(const std::vector<OpTimes>& stages) {
    const auto mean = [&](TimeNs OpTimes::*time) {
        // Divide first, because the sum of long times might overflow.
        const auto count = static_cast<std::int64_t>(std::max<std::size_t>(stages.size(), 1));
        TimeNs whole{0};
        std::int64_t rest = 0;
        for (const OpTimes& stage : stages) {
            whole += stage.*time / count;
            rest += (stage.*time).count() % count;
        }
        return whole + TimeNs{rest / count};
    };
    OpTimes times{.forward = mean(&OpTimes::forward),
                  .backward = TimeNs{0},
                  .input_grad = mean(&OpTimes::input_grad),
                  .weight_grad = mean(&OpTimes::weight_grad),
                  .optimizer = mean(&OpTimes::optimizer)};
    times.backward = times.input_grad + times.weight_grad;
    return times;
}

} // namespace bubblescope
