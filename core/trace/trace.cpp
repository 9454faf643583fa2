#include "core/trace/trace.h"

namespace bubblescope {

std::optional<std::int64_t> Trace::intArg(ArgSetId set, std::string_view name) const {
    const auto value = arg(set, name);
    if (!value) return std::nullopt;
    if (const bool* const flag = std::get_if<bool>(&*value)) return *flag ? 1 : 0;
    if (const std::int64_t* const number = std::get_if<std::int64_t>(&*value)) return *number;
    return std::nullopt;
}

std::optional<std::string> Trace::textArg(ArgSetId set, std::string_view name) const {
    auto value = arg(set, name);
    if (!value || !std::holds_alternative<std::string>(*value)) return std::nullopt;
    return std::get<std::string>(std::move(*value));
}

std::size_t Trace::columnBytes() const {
    const auto bytes = [](const auto& column) { return column.capacity() * sizeof(column[0]); };
    std::size_t sum = bytes(tracks_) + bytes(start_) + bytes(duration_) + bytes(name_) + bytes(category_) +
                      arg_column_.bytes() + bytes(instants_) + bytes(flow_points_) + bytes(counters_);
    for (const CounterSeries& series : counters_)
        sum += bytes(series.times) + bytes(series.values);
    return sum;
}

std::vector<std::int64_t> ranksOfFiles(std::span<const TraceFile> files) {
    std::vector<std::int64_t> ranks;
    std::int64_t usable = 0;
    for (const TraceFile& file : files) {
        ranks.push_back(file.rank ? std::int64_t{*file.rank} : usable);
        usable += file.format.empty() ? 0 : 1;
    }
    return ranks;
}

} // namespace bubblescope
