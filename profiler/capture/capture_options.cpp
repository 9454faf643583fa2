#include "profiler/capture/capture_options.h"

#include "core/base/text.h"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace bubblescope::profiler {
namespace {

/// Returns the text before `at`, and removes that text and `at` from `text`.
std::string_view takeUntil(std::string_view at, std::string_view& text) {
    const std::size_t end = text.find_first_of(at);
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return part;
}

struct Unit {
    std::string_view name;
    std::int64_t bytes;
};
constexpr std::array<Unit, 4> kUnits{{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}};

std::optional<std::int64_t> byteCount(std::string_view text) {
    std::int64_t unit = 1;
    for (const Unit& known : kUnits) {
        if (!text.ends_with(known.name)) continue;
        unit = known.bytes;
        text.remove_suffix(known.name.size());
        break;
    }
    const auto count = parseNumber<std::int64_t>(trimmed(text));
    if (!count || *count < 0 || *count > std::numeric_limits<std::int64_t>::max() / unit) return std::nullopt;
    return *count * unit;
}

Error wrong(std::string_view key, std::string_view value, std::string_view expected) {
    return usageError("'" + std::string(value) + "' is not a value of the capture option '" + std::string(key) + "'",
                      "specify " + std::string(expected));
}

Status setTime(std::string_view key, std::string_view value, TimeNs& out) {
    const auto time = parseTime(value);
    if (!time.ok() || time.value() < TimeNs{0}) return wrong(key, value, "a time with its unit, such as 30s or 100ms");
    out = time.value();
    return {};
}

Status setKinds(std::string_view value, CaptureOptions& options) {
    bool nvtx = false;
    bool nccl = false;
    bool cuda = false;
    bool python = false;
    for (std::string_view rest = value; !rest.empty();) {
        const std::string_view kind = takeUntil("+", rest);
        bool* const known = kind == "nvtx"     ? &nvtx
                            : kind == "nccl"   ? &nccl
                            : kind == "cuda"   ? &cuda
                            : kind == "python" ? &python
                                               : nullptr;
        if (known == nullptr) return wrong("record", value, "any of nvtx, nccl, cuda and python, joined by +");
        *known = true;
    }
    options.nvtx = nvtx;
    options.nccl = nccl;
    options.cuda = cuda;
    options.python = python;
    return {};
}

Status setSteps(std::string_view value, CaptureOptions& options) {
    std::string_view rest = value;
    const std::string_view first_text = takeUntil("-", rest);
    const auto first = parseNumber<std::int64_t>(first_text);
    const bool open = value.ends_with('-');
    const auto last = value.find('-') == std::string_view::npos ? first
                      : open ? std::optional(std::numeric_limits<std::int64_t>::max())
                             : parseNumber<std::int64_t>(rest);
    if (!first || !last || *first < 0 || *last < *first) return wrong("steps", value, "steps such as 10-20, 10- or 10");
    options.first_step = *first;
    options.last_step = *last;
    return {};
}

Status set(std::string_view key, std::string_view value, CaptureOptions& options) {
    if (key == "mode") {
        if (value != "full" && value != "pipeline") return wrong(key, value, "full or pipeline");
        options.mode = value == "full" ? CaptureOptions::Mode::Full : CaptureOptions::Mode::Pipeline;
        return {};
    }
    if (key == "record") return setKinds(value, options);
    if (key == "kernels") {
        constexpr std::string_view kEvery = "every=";
        const auto every = value == "all" ? 1
                           : value.starts_with(kEvery)
                               ? parseNumber<std::int64_t>(value.substr(kEvery.size())).value_or(0)
                               : 0;
        if (every < 1) return wrong(key, value, "all, or every=N with the number of steps, such as every=10");
        options.kernels_every = every;
        return {};
    }
    if (key == "memory") {
        if (value != "device" && value != "none") return wrong(key, value, "device or none");
        options.memory = value == "device";
        return {};
    }
    if (key == "python") {
        if (value != "frameworks" && value != "ranges" && value != "none")
            return wrong(key, value, "frameworks, ranges or none");
        options.python = value != "none";
        options.python_ranges = value == "ranges";
        return {};
    }
    if (key == "checks") {
        if (value != "bubbles" && value != "none") return wrong(key, value, "bubbles or none");
        options.checks = value == "bubbles";
        return {};
    }
    if (key == "checks-margin") {
        constexpr double kPercent = 100;
        const auto margin = parseNumber<double>(value);
        if (!margin || !(*margin >= 0)) return wrong(key, value, "percent, such as 10");
        options.checks_margin = *margin / kPercent;
        return {};
    }
    if (key == "checks-cost") {
        constexpr double kPercent = 100;
        const auto cost = parseNumber<double>(value);
        if (!cost || !(*cost >= 0 && *cost <= kPercent)) return wrong(key, value, "percent up to 100, such as 0.3");
        options.checks_cost = *cost / kPercent;
        return {};
    }
    if (key == "checks-memory") {
        const auto bytes = byteCount(value);
        if (!bytes) return wrong(key, value, "bytes, such as 64MiB or 2GiB");
        options.checks_memory = *bytes;
        return {};
    }
    if (key == "steps") return setSteps(value, options);
    if (key == "step") {
        options.step_name = value;
        return {};
    }
    if (key == "delay") return setTime(key, value, options.delay);
    if (key == "duration") return setTime(key, value, options.duration);
    if (key == "flush") {
        TimeNs flush{0};
        BUBBLESCOPE_TRY(setTime(key, value, flush));
        if (flush < std::chrono::milliseconds(1)) return wrong(key, value, "at least 1ms");
        options.flush = flush;
        return {};
    }
    if (key == "size") {
        const auto bytes = byteCount(value);
        if (!bytes) return wrong(key, value, "bytes, such as 500MiB or 2GiB");
        options.size = *bytes;
        return {};
    }
    if (key == "buffer") {
        constexpr std::int64_t kMin = std::int64_t{64} << 10;
        constexpr std::int64_t kMax = std::int64_t{2} << 30;
        const auto bytes = byteCount(value);
        if (!bytes || *bytes < kMin || *bytes > kMax) return wrong(key, value, "bytes from 64KiB to 2GiB");
        options.buffer = *bytes;
        return {};
    }
    return usageError(
        "unknown capture option '" + std::string(key) + "'",
        "known options: mode, record, kernels, memory, python, checks, checks-margin, checks-cost, checks-memory, "
        "steps, step, delay, duration, flush, size and buffer");
}

// Step names used by PyTorch's profiler, and other common names.
constexpr std::array<std::string_view, 5> kStepNames{"ProfilerStep#", "step", "Step", "iteration", "Iteration"};

} // namespace

Status parseCaptureOptions(std::string_view text, CaptureOptions& options) {
    while (!text.empty()) {
        std::string_view line = takeUntil("\n", text);
        line = line.substr(0, line.find('#'));
        while (!line.empty()) {
            std::string_view value = trimmed(takeUntil(",", line));
            if (value.empty()) continue;
            if (value.find('=') == std::string_view::npos) {
                return usageError("'" + std::string(value) + "' is not a capture option", "write key=value");
            }
            const std::string_view key = trimmed(takeUntil("=", value));
            BUBBLESCOPE_TRY(set(key, trimmed(value), options));
        }
    }
    return {};
}

std::string captureOptionsText(const CaptureOptions& options) {
    const CaptureOptions usual;
    std::string text;
    const auto add = [&text](std::string_view key, const std::string& value) {
        text += (text.empty() ? "" : ",") + std::string(key) + "=" + value;
    };
    const auto time = [](TimeNs value) { return std::to_string(value.count()) + "ns"; };
    if (options.mode == CaptureOptions::Mode::Pipeline) add("mode", "pipeline");
    if (!options.nvtx || !options.nccl || !options.cuda || !options.python) {
        std::string kinds;
        for (const auto& [on, name] : {std::pair(options.nvtx, "nvtx"), std::pair(options.nccl, "nccl"),
                                       std::pair(options.cuda, "cuda"), std::pair(options.python, "python")}) {
            if (on) kinds += (kinds.empty() ? "" : "+") + std::string(name);
        }
        add("record", kinds);
    }
    if (options.kernels_every > 1) add("kernels", "every=" + std::to_string(options.kernels_every));
    if (options.memory) add("memory", "device");
    if (options.python && options.python_ranges) add("python", "ranges");
    if (options.checks) {
        constexpr double kPercent = 100;
        add("checks", "bubbles");
        if (options.checks_margin != usual.checks_margin)
            add("checks-margin", std::to_string(options.checks_margin * kPercent));
        if (options.checks_cost != usual.checks_cost)
            add("checks-cost", std::to_string(options.checks_cost * kPercent));
        if (options.checks_memory) add("checks-memory", std::to_string(*options.checks_memory));
    }
    if (options.hasStepWindow()) {
        const bool open = options.last_step == usual.last_step;
        add("steps", std::to_string(options.first_step) + "-" + (open ? "" : std::to_string(options.last_step)));
    }
    if (!options.step_name.empty()) add("step", options.step_name);
    if (options.delay != usual.delay) add("delay", time(options.delay));
    if (options.duration != usual.duration) add("duration", time(options.duration));
    if (options.flush != usual.flush) add("flush", time(options.flush));
    if (options.size != usual.size) add("size", std::to_string(options.size));
    if (options.buffer != usual.buffer) add("buffer", std::to_string(options.buffer));
    return text;
}

CaptureOptions captureOptionsFrom(const ReadVariable& variable, std::vector<std::string>& problems) {
    CaptureOptions options;
    options.dir = variable(kCaptureDirVariable).value_or("");
    options.watcher = variable(kCaptureWatcherVariable).value_or("");
    const auto take = [&](std::string_view text, std::string_view where) {
        const Status parsed = parseCaptureOptions(text, options);
        if (!parsed.ok()) problems.push_back(std::string(where) + ": " + parsed.error().text());
    };
    if (const auto path = variable(kCaptureFileVariable)) {
        std::ifstream file(*path);
        if (file)
            take(std::string(std::istreambuf_iterator<char>(file), {}), *path);
        else
            problems.push_back(*path + ": cannot read the file with capture options");
    }
    if (const auto text = variable(kCaptureVariable)) take(*text, kCaptureVariable);
    return options;
}

CaptureWindow::CaptureWindow(const CaptureOptions& options) : options_(options) {}

std::optional<std::int64_t> CaptureWindow::numbered(std::string_view name) const {
    const auto rest = [&]() -> std::optional<std::string_view> {
        if (!options_.step_name.empty()) {
            if (!name.starts_with(options_.step_name)) return std::nullopt;
            return name.substr(options_.step_name.size());
        }
        for (const std::string_view known : kStepNames) {
            if (!name.starts_with(known)) continue;
            const std::string_view after = name.substr(known.size());
            // "stepper" does not name a step.
            const bool word_ends = after.empty() || isDigit(after[0]) || after.find_first_of(" _:=#-") == 0;
            if (word_ends) return after;
        }
        return std::nullopt;
    }();
    if (!rest) return std::nullopt;
    std::string_view digits = *rest;
    while (!digits.empty() && !isDigit(digits.front()))
        digits.remove_prefix(1);
    return takeNumber<std::int64_t>(digits).value_or(-1);
}

std::optional<std::int64_t> CaptureWindow::observe(std::string_view name, TimeNs time) {
    if (!state_.first) state_.first = time;
    if (state_.until && time >= *state_.until) return std::nullopt;
    std::optional<std::int64_t> step;
    if (options_.hasStepWindow() || options_.kernels_every > 1) step = numbered(name);
    if (step) {
        if (*step < 0) step = state_.steps;
        ++state_.steps;
    }
    const TimeNs begin = *state_.first + options_.delay;
    if (options_.hasStepWindow()) {
        if (!step) return step;
        if (!state_.from && *step >= options_.first_step && time >= begin) state_.from = time;
        if (state_.from && *step > options_.last_step) state_.until = time;
    } else if (!state_.from && time >= begin) {
        state_.from = begin;
    }
    if (state_.from && !state_.until && options_.duration > TimeNs{0}) state_.until = *state_.from + options_.duration;
    return step;
}

} // namespace bubblescope::profiler
