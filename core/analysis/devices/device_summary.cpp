#include "core/analysis/devices/device_summary.h"

#include "core/base/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

template <class Totals>
void sortByTotal(std::vector<Totals>& list) {
    std::ranges::stable_sort(list, [](const Totals& a, const Totals& b) {
        return std::pair(b.total, std::string_view(a.name)) < std::pair(a.total, std::string_view(b.name));
    });
}

} // namespace

TimeNs boundedSum(TimeNs a, TimeNs b) {
    return a > TimeNs::max() - b ? TimeNs::max() : a + b;
}

TimeNs DeviceTimes::with(std::size_t classes, std::size_t without) const {
    TimeNs sum{0};
    for (std::size_t mix = 1; mix < by_mix.size(); ++mix) {
        if ((mix & classes) != 0 && (mix & without) == 0) sum += by_mix[mix];
    }
    return sum;
}

TimeNs DeviceTimes::span() const {
    return std::accumulate(by_mix.begin(), by_mix.end(), TimeNs{0});
}

double KernelTotals::deviationNs() const {
    return count < 2 ? 0 : std::sqrt(square_sum_ns / static_cast<double>(count - 1));
}

void KernelTotals::add(const KernelTotals& other) {
    if (other.count == 0) return;
    if (count == 0) {
        *this = other;
        return;
    }
    // Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
    const auto n = static_cast<double>(count);
    const auto m = static_cast<double>(other.count);
    const double apart = static_cast<double>(other.total.count()) / m - static_cast<double>(total.count()) / n;
    square_sum_ns += other.square_sum_ns + apart * apart * n * m / (n + m);
    count += other.count;
    total = boundedSum(total, other.total);
    shortest = std::min(shortest, other.shortest);
    if (other.longest > longest) std::tie(longest, longest_at) = std::pair(other.longest, other.longest_at);
}

double busBytes(std::string_view collective, std::int64_t group_size, std::int64_t bytes) {
    const auto size = static_cast<double>(bytes);
    if (group_size < 2) return size;
    const double others = static_cast<double>(group_size - 1) / static_cast<double>(group_size);
    // "_allgather_base", "allreduce_coalesced", "all_to_allv", "reduce_scatter_tensor_coalesced" …
    std::string name(collective);
    std::erase(name, '_');
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    if (has("allreduce")) return 2 * others * size;
    if (has("allgather") || has("reducescatter") || has("alltoall")) return others * size;
    return size;
}

std::optional<StepActivity> typicalStep(const std::vector<FileActivity>& files) {
    std::vector<const StepActivity*> steps;
    for (const FileActivity& file : files) {
        for (const StepActivity& step : file.steps)
            steps.push_back(&step);
    }
    if (steps.empty()) return std::nullopt;
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::ranges::nth_element(steps, middle, {}, [](const StepActivity* step) { return step->duration; });
    return **middle;
}

std::vector<KernelTotals> joinedKernels(const std::vector<DeviceSummary>& devices) {
    std::map<std::pair<std::string_view, WorkKind>, KernelTotals> by_name;
    for (const DeviceSummary& device : devices) {
        for (const KernelTotals& kernel : device.kernels)
            by_name[{kernel.name, kernel.kind}].add(kernel);
    }
    std::vector<KernelTotals> list;
    for (auto& [name, totals] : by_name)
        list.push_back(std::move(totals));
    sortByTotal(list);
    return list;
}

std::string shortKernelName(std::string_view name) {
    constexpr std::size_t kLongestName = 60;
    if (name.starts_with("void ")) name.remove_prefix(5);
    if (name.ends_with(')')) {
        int depth = 0;
        std::size_t at = name.size();
        while (at-- > 0) {
            depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
            if (depth == 0) break;
        }
        if (at > 0 && at < name.size()) name = name.substr(0, at);
    }
    if (name.size() <= kLongestName) return std::string(name);
    std::size_t head = kLongestName / 2;
    while (head > 0 && continuesCodePoint(name[head]))
        --head;
    std::size_t tail = name.size() - (kLongestName - kLongestName / 2 - 1);
    while (tail < name.size() && continuesCodePoint(name[tail]))
        ++tail;
    return fmt::format("{}…{}", name.substr(0, head), name.substr(tail));
}

std::vector<CollectiveTotals> joinedCollectives(const std::vector<DeviceSummary>& devices) {
    std::map<std::tuple<std::string_view, std::string_view, std::int64_t>, CollectiveTotals> by_group;
    for (const DeviceSummary& device : devices) {
        for (const CollectiveTotals& of_device : device.collectives) {
            const auto [place, is_new] =
                by_group.try_emplace({of_device.name, of_device.group, of_device.group_size}, of_device);
            if (is_new) continue;
            CollectiveTotals& sum = place->second;
            sum.count += of_device.count;
            sum.bytes = boundedSum(TimeNs{sum.bytes}, TimeNs{of_device.bytes}).count();
            sum.total = boundedSum(sum.total, of_device.total);
            sum.exposed = boundedSum(sum.exposed, of_device.exposed);
            sum.longest = std::max(sum.longest, of_device.longest);
            sum.best_bandwidth = std::max(sum.best_bandwidth, of_device.best_bandwidth);
        }
    }
    std::vector<CollectiveTotals> list;
    for (auto& [group, totals] : by_group)
        list.push_back(std::move(totals));
    sortByTotal(list);
    return list;
}

} // namespace bubblescope
