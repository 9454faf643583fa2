#include "core/request/schedule_request.h"

#include "core/base/field.h"
#include "core/base/text.h"
#include "core/cost/cost_files.h"
#include "core/cost/partition.h"
#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "core/optimize/overlap/operators.h"
#include "core/optimize/overlap/study.h"
#include "core/recognise/match_schedule.h"
#include "core/schedule/order_parts.h"
#include "core/schedule/schedule_files.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

namespace bubblescope {

Result<SendMode> parseSendMode(std::string_view name) {
    const auto mode = sendModeFromName(name);
    if (!mode)
        return usageError(fmt::format("{} is not known", Field("sends").is(name)),
                          "use async, blocking, paired or batched");
    return *mode;
}

Result<CommStreams> parseCommStreams(std::string_view name) {
    const auto mode = commStreamsFromName(name);
    if (!mode)
        return usageError(fmt::format("{} is not known", Field("comm_streams").is(name)),
                          "use unlimited, direction, link or rank");
    return *mode;
}

namespace {

/// Parses "4" or "1/2": one number of replicas must divide the other.
std::optional<double> parseReplicas(std::string_view text) {
    const bool fewer = text.starts_with("1/");
    const auto number = parseNumber<int>(fewer ? text.substr(2) : text);
    if (!number || *number < 1) return std::nullopt;
    return fewer ? 1.0 / *number : *number;
}

} // namespace

Result<EncoderRequest> parseEncoders(std::string_view text) {
    const auto fault = [text](std::string_view what) {
        return usageError(fmt::format("{}: {}", Field("encoders").is(text), what),
                          fmt::format("write the pipeline ranks of each encoder, as in {} or {}",
                                      Field("encoders").is("2+1"), Field("encoders").is("2:800us@dp4+1:500us")));
    };
    EncoderRequest request;
    std::array<int, 2> ranks{};
    std::size_t count = 0;
    for (std::string_view rest = text; count == 0 || !rest.empty(); ++count) {
        if (count == ranks.size()) return fault("at most two encoders are supported");
        const std::size_t plus = rest.find('+');
        std::string_view one = rest.substr(0, plus);
        if (plus != std::string_view::npos && plus + 1 == rest.size()) return fault("the last encoder is empty");
        rest.remove_prefix(plus == std::string_view::npos ? rest.size() : plus + 1);
        if (const std::size_t at = one.find("@dp"); at != std::string_view::npos) {
            const auto replicas = parseReplicas(one.substr(at + 3));
            if (!replicas)
                return fault(fmt::format("'{}' is not a number of encoder replicas per trunk replica, such as 4 or 1/2",
                                         one.substr(at + 3)));
            request.times[count].replicas = *replicas;
            one = one.substr(0, at);
        }
        const std::size_t colon = one.find(':');
        const auto number = parseNumber<int>(one.substr(0, colon));
        if (!number || *number < 1 || *number > kMaxEncoderRanks)
            return fault(fmt::format("'{}' is not a number of ranks", one.substr(0, colon)));
        ranks[count] = *number;
        if (colon == std::string_view::npos) continue;
        BUBBLESCOPE_ASSIGN(request.times[count].forward, parseTime(one.substr(colon + 1)));
    }
    request.ranks = {ranks[0], ranks[1]};
    return request;
}

Result<TransferModel> TransferRequest::model(int pp, bool timed) const {
    TransferModel model = stated;
    model.gradient_bytes = gradient_bytes.value_or(model.activation_bytes);
    if (!links.empty()) {
        BUBBLESCOPE_ASSIGN(model.links, readLinks(links, pp));
    }
    const bool sized = model.activation_bytes != 0 || model.gradient_bytes != 0;
    const bool rated = model.bytes_per_second || std::ranges::any_of(model.links, [](const Link& link) {
                           return link.bytes_per_second.has_value();
                       });
    if (rated && !sized) {
        return usageError(
            fmt::format("{} has no effect without a transfer size",
                        model.bytes_per_second ? Field("bandwidth") : Field("links")),
            fmt::format("use {}, and {} if they differ", Field("activation_bytes"), Field("gradient_bytes")));
    }
    if (sized && !rated && !eager_sends) {
        return usageError(
            fmt::format("{} has no effect without a bandwidth: transfers take no time",
                        model.activation_bytes != 0 ? Field("activation_bytes") : Field("gradient_bytes")),
            fmt::format("use {}, such as {}", Field("bandwidth"), Field("bandwidth").is("50GB/s")));
    }
    if (model.streams != CommStreams::Unlimited && !rated && !timed && model.links.empty()) {
        return usageError(
            fmt::format("{} has no effect on transfers that take no time", Field("comm_streams")),
            fmt::format("specify {}, or {} and {}", Field("comm"), Field("activation_bytes"), Field("bandwidth")));
    }
    return model;
}

ScheduleSpec ScheduleRequest::specOf(const std::string& family, const std::string& whose, int chunks) const {
    ScheduleSpec out = spec;
    out.name = family;
    out.flavor = whose;
    out.vpp = chunks;
    if (!activation_sizes.empty()) out.sizes = {activation_sizes.at(0), activation_sizes.at(1), activation_sizes.at(2)};
    return out;
}

Result<Schedule> ScheduleRequest::generate(const std::string& family, const std::string& whose, const CostModel& times,
                                           int chunks) const {
    ScheduleSpec wanted = specOf(family, whose, chunks);
    wanted.times = times.times;
    wanted.comm = times.comm;
    return makeSchedule(wanted);
}

Result<Schedule> ScheduleRequest::schedule(const CostModel& times) const {
    if (order) return *order;
    if (!file.empty()) {
        BUBBLESCOPE_ASSIGN(const Schedule read, readScheduleFile(file));
        return matchSchedule(read).schedule; // the name in a file need not match its order
    }
    if (spec.name.empty()) {
        return usageError("no schedule given",
                          fmt::format("use {} {} {}, or {}", Field("schedule").is("NAME"), Field("pp").is("P"),
                                      Field("microbatches").is("M"), Field("schedule_file").is("FILE")));
    }
    return generate(spec.name, spec.flavor, times, chunks());
}

int ScheduleRequest::chunks() const {
    return vpp ? *vpp : usualChunks(spec.name, spec.flavor);
}

Status ScheduleRequest::open(LoadOptions& options) const {
    if (order || !file.empty()) {
        BUBBLESCOPE_ASSIGN(options.schedule, schedule({}));
        return {};
    }
    const ScheduleFamily* const family = findScheduleFamily(spec.name);
    ScheduleSpec wanted = specOf(spec.name, spec.flavor, vpp.value_or(0));
    if (family == nullptr) return makeSchedule(wanted).error(); // the error lists the families that exist
    const FamilyFlavor named{spec.name, spec.flavor};
    BUBBLESCOPE_TRY(checkUsedParts(wanted, {&named, 1}));
    options.family = std::move(wanted);
    return {};
}

Result<Schedule> ScheduleRequest::sibling(const std::string& sibling_name, const CostModel& times,
                                          std::optional<int> other_vpp) const {
    if (order || !file.empty())
        return usageError("a schedule file cannot be compared with other schedules",
                          fmt::format("use {} instead", Field("schedule")));
    if (sibling_name.empty())
        return usageError("the name of a schedule to compare with is empty",
                          fmt::format("write {}", Field("compare").is("zb-h1,zb-v")));
    const auto slash = sibling_name.find('/');
    const std::string family = sibling_name.substr(0, slash);
    return generate(family.empty() ? spec.name : family,
                    slash == std::string::npos ? "" : sibling_name.substr(slash + 1), times,
                    other_vpp.value_or(chunks()));
}

Result<CostModel> ScheduleRequest::operatorCosts() const {
    if (forward || backward || input_grad || weight_grad || overlapped || all_reduce) {
        return usageError(fmt::format("{} already gives the op times", Field("op_costs")),
                          fmt::format("omit {}, {}, {}, {}, {} and {}", Field("forward"), Field("backward"),
                                      Field("input_grad"), Field("weight_grad"), Field("overlapped"),
                                      Field("all_reduce")));
    }
    BUBBLESCOPE_ASSIGN(const overlap::OpCosts read, overlap::readOpCosts(op_costs));
    BUBBLESCOPE_ASSIGN(const overlap::Variant variant, overlap::variantNamed(pair_cuts));
    const overlap::PairStudy study = overlap::studyPair(read, variant);
    CostModel model;
    std::optional<TimeNs> weights; // split evenly if the model does not specify it
    if (overlap::weightGradTime(read).count() > 0) weights = std::min(study.backward, overlap::weightGradTime(read));
    BUBBLESCOPE_ASSIGN(model.times, makeOpTimes(study.forward, study.backward, {}, weights));
    model.overlapped = study.pairTime();
    return model;
}

Result<CostModel> ScheduleRequest::singleCosts(TimeNs usual_forward) const {
    CostModel model;
    model.overlapped = overlapped;
    model.all_reduce = all_reduce.value_or(TimeNs{0});
    const auto expose = [&model](OpTimes& times) {
        times.forward += model.all_reduce;
        times.input_grad += model.all_reduce;
    };
    if (!stage_times.empty()) {
        BUBBLESCOPE_ASSIGN(model.stages, readStageTimes(stage_times));
        model.times = meanTimes(model.stages);
        std::ranges::for_each(model.stages, expose);
        expose(model.times);
        return model;
    }
    const TimeNs one = forward.value_or(usual_forward);
    const bool halves = input_grad && weight_grad;
    BUBBLESCOPE_ASSIGN(model.times, makeOpTimes(one, backward || halves ? backward : 2 * one, input_grad, weight_grad));
    expose(model.times);
    return model;
}

Status ScheduleRequest::addEncoderTimes(CostModel& model) const {
    const auto& [first, second] = encoder_times;
    if (!first.given() && !second.given()) return {};
    if (!model.stages.empty()) {
        return usageError(fmt::format("{} already gives the times of encoders", Field("stage_times")),
                          fmt::format("omit the times in {}", Field("encoders")));
    }
    const Encoders ranks = spec.encoders;
    if (model.times.forward <= TimeNs{0} || spec.pp <= ranks.ranks()) return {}; // the schedule reports the sizes
    const auto scaled = [&](const EncoderTime& wanted) {
        OpTimes times = model.times;
        if (!wanted.given()) return times;
        const TimeNs whole = wanted.forward.value_or(times.forward);
        const TimeNs forward{std::llround(static_cast<double>(whole.count()) / wanted.replicas)};
        const double factor = static_cast<double>(forward.count()) / static_cast<double>(times.forward.count());
        const auto scale = [factor](TimeNs time) {
            return TimeNs{std::llround(static_cast<double>(time.count()) * factor)};
        };
        return OpTimes{forward, scale(times.input_grad) + scale(times.weight_grad), scale(times.input_grad),
                       scale(times.weight_grad), times.optimizer};
    };
    model.stages.assign(static_cast<std::size_t>(spec.pp), model.times);
    const auto begin = model.stages.begin();
    std::fill_n(begin, ranks.first, scaled(first));
    std::fill_n(begin + ranks.first, ranks.second, scaled(second));
    return {};
}

Result<CostModel> ScheduleRequest::opCosts(TimeNs usual_forward) const {
    BUBBLESCOPE_ASSIGN(CostModel model, op_costs.empty() ? singleCosts(usual_forward) : operatorCosts());
    BUBBLESCOPE_TRY(addEncoderTimes(model));
    model.comm = spec.comm;
    return model;
}

Result<CostModel> ScheduleRequest::costs(TimeNs usual_forward) const {
    BUBBLESCOPE_ASSIGN(CostModel model, opCosts(usual_forward));
    if (spec.loss <= TimeNs{0}) return model;
    BUBBLESCOPE_TRY(checkLoss());
    if (!given()) {
        addLoss(model, std::int64_t{spec.pp} * chunks(), 1);
        return model;
    }
    // Some families use another number of chunks than requested. Generating the schedule reports its problems.
    if (const Result<Schedule> made = schedule(model); made.ok())
        addLoss(model, made.value().stages(), routes(made.value().placement));
    return model;
}

Status ScheduleRequest::checkLoss() const {
    constexpr std::int64_t kMaxStages = 1'000'000;
    const bool read_once = file == "-"; // it is read later
    if (!read_once && std::int64_t{spec.pp} * chunks() <= kMaxStages) return {};
    return usageError(fmt::format("{} needs the schedule's sizes and at most a million stages", Field("loss")),
                      fmt::format("omit {}", Field("loss")));
}

void ScheduleRequest::addLoss(CostModel& model, std::int64_t stages, int pipelines) const {
    if (std::ssize(model.stages) < stages) model.stages.resize(static_cast<std::size_t>(stages), model.times);
    for (std::int64_t k = 1; k <= std::min<std::int64_t>(stages, pipelines); ++k) {
        OpTimes& last = model.stages[static_cast<std::size_t>(stages - k)];
        last.forward += spec.loss;
        last.input_grad += spec.loss;
        last.weight_grad += spec.loss;
        last.backward += 2 * spec.loss;
    }
}

bool ScheduleRequest::timed() const {
    return forward || backward || input_grad || weight_grad || overlapped || all_reduce || !stage_times.empty() ||
           !op_costs.empty() || !op_times.empty() || spec.comm > TimeNs{0} || spec.loss > TimeNs{0} ||
           encoder_times[0].given() || encoder_times[1].given();
}

Status ScheduleRequest::checkUsed(std::span<const Schedule> orders) const {
    if (!order && file.empty()) {
        std::vector<FamilyFlavor> families;
        for (const Schedule& one : orders)
            families.push_back({one.name, one.flavor});
        BUBBLESCOPE_TRY(checkUsedParts(specOf(spec.name, spec.flavor, 1), families));
    }
    const auto has = [&](auto holds) {
        return std::ranges::any_of(orders, [&](const Schedule& one) {
            return std::ranges::any_of(one.ranks,
                                       [&](const std::vector<Op>& ops) { return std::ranges::any_of(ops, holds); });
        });
    };
    if (!slice_cut.empty() && !has([](const Op& op) { return op.sequence > 0; })) {
        return usageError("a way to split sequences has no effect without slices",
                          fmt::format("set {} to 2 or more", Field("sequence_slices")));
    }
    if (overlapped && !has([](const Op& op) { return op.overlapped; })) {
        return usageError(fmt::format("{} has no effect: the order has no overlapped pairs of a forward and a backward",
                                      Field("overlapped")),
                          fmt::format("omit {}, or switch to 1f1b-overlap or dualpipe", Field("overlapped")));
    }
    const bool makes_whole = input_grad && weight_grad && !backward;
    if ((!input_grad && !weight_grad) || makes_whole) return {};
    if (has([](const Op& op) { return op.kind == OpKind::BackwardInput || op.kind == OpKind::BackwardWeight; }))
        return {};
    const Field half = input_grad ? Field("input_grad") : Field("weight_grad");
    return usageError(fmt::format("{} has no effect: the order runs whole backwards", half),
                      fmt::format("omit {}, or use a schedule that splits backwards, such as zb-h1", half));
}

Result<Planned> ScheduleRequest::planShare(TimeNs usual_forward, std::optional<int> chunks) const {
    BUBBLESCOPE_ASSIGN(CostModel model, opCosts(usual_forward));
    BUBBLESCOPE_ASSIGN(Schedule made, schedule(model));
    if (chunks && (*chunks != chunksOfModel(made) || model.stages.size() == made.ranks.size())) {
        BUBBLESCOPE_ASSIGN(model, model.stages.empty() ? recut(model, *chunks, chunksOfModel(made))
                                                       : shareOfRanks(model, made));
        BUBBLESCOPE_ASSIGN(made, schedule(model));
    }
    if (spec.loss > TimeNs{0}) {
        BUBBLESCOPE_TRY(checkLoss());
        addLoss(model, made.stages(), routes(made.placement));
    }
    BUBBLESCOPE_ASSIGN(model.transfers, transfers.model(made.pp, model.comm > TimeNs{0} || !op_times.empty()));
    if (!op_times.empty()) {
        BUBBLESCOPE_ASSIGN(const OpGraph graph, completeGraph(made));
        BUBBLESCOPE_ASSIGN(MeasuredTimes measured, readOpTimes(op_times, made, graph));
        model.measured = std::make_shared<MeasuredTimes>(std::move(measured));
    }
    BUBBLESCOPE_ASSIGN(const SliceParts parts, slices(made));
    if (!parts.tokens.empty()) addSliceTimes(model, made, parts);
    return Planned{std::move(made), std::move(model)};
}

Result<SliceParts> ScheduleRequest::slices(const Schedule& made) const {
    if (slice_cut.empty()) return SliceParts{};
    BUBBLESCOPE_ASSIGN(const SliceCut cut, sliceCutFromName(slice_cut));
    const int count = slicesOf(made);
    BUBBLESCOPE_ASSIGN(SliceParts parts, sliceParts(cut, count, attention));
    return count > 1 ? std::move(parts) : SliceParts{};
}

Result<Planned> ScheduleRequest::plan(TimeNs usual_forward) const {
    BUBBLESCOPE_ASSIGN(Planned planned, planShare(usual_forward, {}));
    BUBBLESCOPE_TRY(checkUsed({&planned.schedule, 1}));
    return planned;
}

} // namespace bubblescope
