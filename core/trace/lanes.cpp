#include "core/trace/lanes.h"

#include "core/base/text.h"
#include "core/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

constexpr std::array<std::string_view, kLaneKinds> kNames{"host",    "device",     "copy", "communication",
                                                          "compute", "annotation", "idle"};

LaneRule category(std::string_view name, LaneKind kind, std::string_view source) {
    return {std::string(name), {}, {}, kind, std::string(source)};
}
LaneRule names(std::string_view process, std::string_view thread, LaneKind kind, std::string_view source,
               std::string_view device = {}) {
    return {{}, std::string(process), std::string(thread), kind, std::string(source), std::string(device)};
}

// Sources: Kineto's ActivityType names, current and of 2021; paddle.profiler; rocprofv3's categories and track names
// (rocprofiler-sdk); the timelines of torch_npu and MindSpore (Ascend's trace_view.json); JAX's and TensorFlow's
// trace.json of XLA; ROCm's RPD (rpd2tracing).
std::vector<LaneRule> builtin() {
    using enum LaneKind;
    return {
        category("kernel", Device, "Kineto, Nsight Systems"),
        category("Kernel", Device, "Kineto of 2021, PaddlePaddle"),
        category("mtia_ccp_events", Device, "Kineto for MTIA"),
        category("hpu_op", Device, "Kineto for HPU"),
        category("gpu_memcpy", Copy, "Kineto, Nsight Systems"),
        category("gpu_memset", Copy, "Kineto, Nsight Systems"),
        category("Memcpy", Copy, "Kineto of 2021, PaddlePaddle"),
        category("Memset", Copy, "Kineto of 2021, PaddlePaddle"),
        category("gpu_user_annotation", Annotation, "Kineto"),
        category("gpu_pm_counter", Annotation, "Kineto"),
        category("cuda_sync", Annotation, "Kineto, Nsight Systems"),
        category("kernel_dispatch", Device, "rocprofv3"),
        category("memory_copy", Copy, "rocprofv3"),
        category("GPU", Communication, "NCCL's profiler plugin"), // a channel's part of a collective
        category("gpu_render_stage", Device, "Perfetto's GPU tracks"),
        names("Ascend Hardware*", "", Device, "Ascend profilers", "NPU"),
        names("Communication*", "Plane *", Annotation, "Ascend profilers"),
        names("Communication*", "Group *", Communication, "Ascend profilers", "NPU"),
        names("HCCL*", "Plane *", Annotation, "Ascend profilers"),
        names("HCCL*", "Group *", Communication, "Ascend profilers", "NPU"),
        names("Overlap Analysis*", "Free", Idle, "Ascend profilers"),
        names("Overlap Analysis*", "", Annotation, "Ascend profilers"),
        names("AI Core Freq*", "", Annotation, "Ascend profilers"),
        names("/device:GPU:#*", "Stream*", Device, "JAX, TensorFlow", "GPU"),
        names("/device:TPU:#*", "XLA Ops", Device, "JAX, TensorFlow", "TPU"),
        names("/device:TPU:#*", "Async XLA Ops", Copy, "JAX, TensorFlow", "TPU"),
        names("/device:*", "", Annotation, "JAX, TensorFlow"),
        names("", "*AGENT [#]*", Device, "rocprofv3", "agent"),
        names("GPU#", "", Device, "RPD", "GPU"),
        names("GPU #", "", Device, "RPD", "GPU"),
    };
}

/// Each * matches as little as possible and only the latest one needs to backtrack, so the time is at most the product
/// of both lengths.
bool matchesWhole(std::string_view pattern, std::string_view name, std::optional<std::int64_t>* number) {
    std::optional<std::string_view> behind_star; // rest of the pattern after the latest *
    std::string_view rest;                       // rest of the name that the latest * does not match
    std::optional<std::int64_t> found;
    while (!pattern.empty() || !name.empty()) {
        const char next = pattern.empty() ? '\0' : pattern.front();
        if (next == '*') {
            pattern.remove_prefix(1);
            behind_star = pattern;
            rest = name;
            continue;
        }
        const auto digits =
            next == '#' && !name.empty() && isDigit(name.front()) ? takeNumber<std::int64_t>(name) : std::nullopt;
        if (digits) {
            found = digits;
            pattern.remove_prefix(1);
        } else if (!pattern.empty() && next != '#' && !name.empty() && name.front() == next) {
            pattern.remove_prefix(1);
            name.remove_prefix(1);
        } else {
            if (!behind_star || rest.empty()) return false;
            rest.remove_prefix(1);
            pattern = *behind_star;
            name = rest;
        }
    }
    if (number != nullptr && found) *number = found;
    return true;
}

} // namespace

std::string_view laneKindName(LaneKind kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

std::optional<LaneKind> laneKindFrom(std::string_view name) {
    const auto known = std::ranges::find(kNames, name);
    if (known == kNames.end()) return std::nullopt;
    return static_cast<LaneKind>(known - kNames.begin());
}

bool matchesName(std::string_view pattern, std::string_view name, std::optional<std::int64_t>* number) {
    constexpr std::size_t kLongest = 1024; // longer names are not lanes' names, and matching them would take long
    return pattern.empty() || (name.size() <= kLongest && matchesWhole(pattern, trimmed(name), number));
}

std::span<const LaneRule> builtinLanes() {
    static const std::vector<LaneRule> kRules = builtin();
    return kRules;
}

Lanes::Lanes(std::span<const Track> tracks, const StringPool& strings, std::span<const LaneRule> more) {
    std::vector<LaneRule> rules(more.begin(), more.end());
    rules.insert(rules.end(), builtinLanes().begin(), builtinLanes().end());
    for (const LaneRule& rule : rules) {
        const StringId id = rule.category.empty() || !rule.name.empty() ? 0 : strings.find(rule.category);
        if (id == 0) continue;
        by_category_.resize(strings.size(), kByTrack);
        if (by_category_[id] != kByTrack) continue;
        by_category_[id] = static_cast<std::uint8_t>(rule.kind);
        any_work_ = any_work_ || isWork(rule.kind);
    }
    for (const LaneRule& rule : rules) {
        if (rule.name.empty()) continue;
        by_name_.resize(strings.size(), kByTrack);
        for (StringId id = 0; id < strings.size(); ++id) {
            if (by_name_[id] == kByTrack && matchesName(rule.name, strings.text(id), nullptr))
                by_name_[id] = static_cast<std::uint8_t>(rule.kind);
        }
    }
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        std::optional<std::int64_t> number;
        const auto rule = std::ranges::find_if(rules, [&](const LaneRule& each) {
            number.reset();
            return each.category.empty() && each.name.empty() &&
                   matchesName(each.process, strings.text(tracks[i].process_name), &number) &&
                   matchesName(each.thread, strings.text(tracks[i].thread_name), &number);
        });
        if (rule == rules.end()) continue;
        by_track_.resize(tracks.size(), LaneKind::Host);
        device_.resize(tracks.size());
        by_track_[i] = rule->kind;
        if (!rule->device.empty()) device_[i] = number ? fmt::format("{} {}", rule->device, *number) : rule->device;
        any_work_ = any_work_ || isWork(rule->kind);
    }
}

} // namespace bubblescope
