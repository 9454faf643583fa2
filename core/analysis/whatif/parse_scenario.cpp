#include "core/analysis/whatif/change.h"
#include "core/base/text.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace bubblescope {
namespace {

constexpr std::string_view kHint =
    "targets: rank:R, worker:REPLICA.RANK, replica:D, stage:S, link:A-B, link:A>B, links, stages, type:NAME, compute, "
    "comm and all; values: usual, steady, balanced (stages), 2x, -20%, +5% or a time; causes, set to 0 or a share: "
    "imbalance, slowdown, jitter, gaps, blocked, replays, late-starts, unknown, and order=0; or "
    "schedule=NAME[/FLAVOR], schedule-file=FILE, vpp=N, microbatches=N, split=N, layers=N,N,…, communicators=KIND, "
    "receives=deferred";

Error unknown(std::string_view text, std::string_view what) {
    return usageError(fmt::format("'{}': {}", text, what), std::string(kHint));
}

std::optional<double> plainNumber(std::string_view text) {
    return parseNumber<double>(text, std::chars_format::fixed);
}

/// Two numbers with a separator between them.
std::optional<std::pair<int, int>> twoNumbers(std::string_view text, char mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    const auto first = wholeNumber(text.substr(0, at));
    const auto second = wholeNumber(text.substr(at + 1));
    if (!first || !second) return std::nullopt;
    return std::pair(*first, *second);
}

std::optional<ChangeTarget> parseTarget(std::string_view text) {
    using Kind = ChangeTarget::Kind;
    ChangeTarget target;
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    if (colon == std::string_view::npos) {
        if (kind == "compute")
            target.kind = Kind::Compute;
        else if (kind == "comm")
            target.kind = Kind::Communication;
        else if (kind == "all")
            target.kind = Kind::All;
        else if (kind == "links")
            target.kind = Kind::Links;
        else if (kind == "stages")
            target.kind = Kind::Stages;
        else if (const auto cause = causeOfWord(kind)) {
            target.kind = Kind::OfCause;
            target.cause = *cause;
        } else
            return std::nullopt;
        return target;
    }
    const std::string_view which = text.substr(colon + 1);
    if (kind == "type") {
        const auto op = runOpFromName(which);
        if (!op) return std::nullopt;
        target.kind = Kind::Op;
        target.op = *op;
        return target;
    }
    if (kind == "worker") {
        const auto place = twoNumbers(which, '.');
        if (!place) return std::nullopt;
        target.kind = Kind::Worker;
        target.replica = place->first;
        target.rank = Rank{place->second};
        return target;
    }
    if (kind == "link") {
        const auto one_way = twoNumbers(which, '>');
        const auto ends = one_way ? one_way : twoNumbers(which, '-');
        if (!ends) return std::nullopt;
        target.kind = Kind::Link;
        target.both_ways = !one_way;
        target.rank = Rank{ends->first};
        target.peer = Rank{ends->second};
        return target;
    }
    const auto number = wholeNumber(which);
    if (!number) return std::nullopt;
    target.rank = Rank{*number};
    target.replica = *number;
    target.stage = Stage{*number};
    if (kind == "rank")
        target.kind = Kind::OfRank;
    else if (kind == "replica")
        target.kind = Kind::Replica;
    else if (kind == "stage")
        target.kind = Kind::OfStage;
    else
        return std::nullopt;
    return target;
}

std::optional<ChangedTime> parseValue(std::string_view text) {
    using Kind = ChangedTime::Kind;
    if (text == "usual") return ChangedTime{Kind::Usual, 1, TimeNs{0}};
    if (text == "balanced") return ChangedTime{Kind::Balanced, 1, TimeNs{0}};
    if (text == "steady") return ChangedTime{Kind::Steady, 1, TimeNs{0}};
    if (text.ends_with('x')) {
        const auto speed = plainNumber(text.substr(0, text.size() - 1));
        if (!speed || !(*speed > 1e-6) || !(*speed < 1e6)) return std::nullopt;
        return ChangedTime{Kind::Speed, 1 / *speed, TimeNs{0}};
    }
    if (text.ends_with('%') && (text.starts_with('+') || text.starts_with('-'))) {
        const auto percent = plainNumber(text.substr(1, text.size() - 2));
        if (!percent || !(*percent >= 0 && *percent <= 1e6)) return std::nullopt;
        const double share = 1 + (text.front() == '-' ? -*percent : *percent) / 100;
        if (share < 0) return std::nullopt;
        return ChangedTime{Kind::Share, share, TimeNs{0}};
    }
    const Result<TimeNs> time = parseTime(text);
    if (!time.ok()) return std::nullopt;
    return ChangedTime{Kind::Exact, time.value() == TimeNs{0} ? 0.0 : 1.0, time.value()};
}

/// True if the change was one of the pipeline.
Result<bool> parsePipeline(std::string_view key, std::string_view value, std::string_view text,
                           PipelineChange& pipeline) {
    const auto positive = [&]() -> Result<int> {
        const auto number = wholeNumber(value);
        if (!number || *number == 0) return unknown(text, "write a whole number above 0 after the '='");
        return *number;
    };
    if (key == "schedule") {
        const std::size_t slash = value.find('/');
        pipeline.schedule = value.substr(0, slash);
        pipeline.flavor = slash == std::string_view::npos ? "" : value.substr(slash + 1);
        if (pipeline.schedule.empty()) return unknown(text, "write the name of a schedule after the '='");
        return true;
    }
    if (key == "schedule-file") {
        BUBBLESCOPE_ASSIGN(Schedule order, readScheduleFile(std::string(value)));
        pipeline.order = std::make_shared<const Schedule>(std::move(order));
        return true;
    }
    if (key == "communicators") {
        const auto kind = communicatorKindFromName(value);
        if (!kind || *kind == CommunicatorKind::One)
            return unknown(text, "write direction, edge, pair or tag after the '='; the recorded run is assumed to use "
                                 "one communicator for everything");
        pipeline.queues.communicators = *kind;
        return true;
    }
    if (key == "receives") {
        if (value != "deferred")
            return unknown(text, "write deferred after the '='; the recorded run is assumed to post receives early");
        pipeline.queues.deferred_receives = true;
        return true;
    }
    if (key == "vpp") {
        BUBBLESCOPE_ASSIGN(pipeline.vpp, positive());
        return true;
    }
    if (key == "microbatches") {
        BUBBLESCOPE_ASSIGN(pipeline.microbatches, positive());
        return true;
    }
    if (key == "split") {
        BUBBLESCOPE_ASSIGN(pipeline.split, positive());
        return true;
    }
    if (key != "layers") return false;
    pipeline.layers.clear();
    while (true) {
        const std::size_t comma = value.find(',');
        const auto number = wholeNumber(value.substr(0, comma));
        if (!number || *number == 0) return unknown(text, "write each stage's number of layers after the '='");
        pipeline.layers.push_back(*number);
        if (comma == std::string_view::npos) return true;
        value.remove_prefix(comma + 1);
    }
}

} // namespace

Result<Scenario> parseScenario(std::span<const std::string> texts) {
    Scenario scenario;
    std::map<std::string_view, std::string_view> changed; // the text that changes each target
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) return unknown(text, "a change has the form TARGET=VALUE");
        const std::string_view key = std::string_view(text).substr(0, equals);
        const std::string_view value = std::string_view(text).substr(equals + 1);
        if (const auto [first, is_new] = changed.try_emplace(key, text); !is_new)
            return usageError(fmt::format("'{}' is changed twice: {} and {}", key, first->second, text),
                              "specify one change");
        BUBBLESCOPE_ASSIGN(const bool of_pipeline, parsePipeline(key, value, text, scenario.pipeline));
        if (of_pipeline) continue;
        const auto target = parseTarget(key);
        if (!target) return unknown(text, fmt::format("'{}' is not a target", key));
        const auto to = parseValue(value);
        if (!to) return unknown(text, fmt::format("'{}' is not a value", value));
        const bool balances = to->kind == ChangedTime::Kind::Balanced;
        if (balances && target->kind != ChangeTarget::Kind::Stages)
            return unknown(text, "only all stages together can be balanced: stages=balanced");
        if (target->kind == ChangeTarget::Kind::OfCause) {
            if (!to->scales()) return unknown(text, "set a cause to a share, such as -50%, or to 0");
            if (target->cause == Cause::Order && to->factor != 0)
                return unknown(text, "the order can only be set to 0: order=0");
        }
        scenario.times.push_back({text, *target, *to});
    }
    return scenario;
}

} // namespace bubblescope
