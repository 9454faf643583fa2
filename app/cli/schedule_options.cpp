#include "app/cli/schedule_options.h"

#include "core/cost/cost_files.h"
#include "core/graph/validate.h"
#include "core/optimize/overlap/operators.h"
#include "core/optimize/overlap/study.h"
#include "core/recognise/match_schedule.h"
#include "core/schedule/families/registry.h"
#include "core/schedule/schedule_files.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace bubblescope::cli {
namespace {

Result<std::optional<TimeNs>> optionalTime(const std::optional<std::string>& text) {
    if (!text) return std::optional<TimeNs>{};
    BUBBLESCOPE_ASSIGN(const TimeNs time, parseTime(*text));
    return std::optional(time);
}

} // namespace

void ScheduleOptions::addSchedule(Command command) {
    const Option name =
        command.addOption("--schedule", name_, "Schedule family, see `bubblescope schedules`").typeName("NAME");
    const Option file =
        command
            .addOption("--schedule-file", file_,
                       "Schedule file instead: a JSON document as `schedule --json` prints it, or PyTorch's CSV")
            .typeName("FILE");
    name.excludes(file);
    command.addOption("--pp", pp_, "Pipeline ranks, p").typeName("P").excludes(file);
    command.addOption("--microbatches", microbatches_, "Micro-batches of a step, m").typeName("M").excludes(file);
    command.addOption("--vpp", vpp_, "Chunks a rank, v (1)").typeName("V").excludes(file);
    command.addOption("--group-size", group_size_, "Micro-batches that pass a chunk together (interleaved)")
        .typeName("N")
        .positive()
        .excludes(file);
    command.addOption("--memory-limit", memory_limit_, "Activations a rank may hold, in forward ops of one chunk")
        .typeName("N")
        .positive()
        .excludes(file);
    command
        .addOption("--activation-sizes", activation_sizes_,
                   "What a forward takes and its input and weight gradients free, in any unit (2,1,1)")
        .typeName("F,I,W")
        .delimiter(',')
        .expected(3)
        .excludes(file);
    command.addOption("--sequence-slices", sequence_slices_, "Slices of each sequence (families that split it)")
        .typeName("K")
        .positive()
        .excludes(file);
    command.addOption("--flavor", flavor_, "Whose order, where frameworks differ").typeName("NAME").excludes(file);
}

void ScheduleOptions::addSizes(Command command) {
    command.addOption("--pp", pp_, "Pipeline ranks, p").typeName("P").positive();
    command.addOption("--microbatches", microbatches_, "Micro-batches of a step, m").typeName("M").positive();
    command.addOption("--vpp", vpp_, "Chunks a rank, v (1)").typeName("V").positive();
}

void ScheduleOptions::addTimes(Command command) {
    const Option op_costs = command
                                .addOption("--op-costs", op_costs_,
                                           "Take the times from a cost model of a layer's operators, see `overlap`")
                                .typeName("FILE");
    command.addOption("--pair-cuts", pair_cuts_, "How --op-costs interleaves a pair: a variant of `overlap` (paddle)")
        .typeName("NAME")
        .needs(op_costs);
    const Option file =
        command.addOption("--stage-times", stage_times_, "Times of each stage's ops instead, as JSON or CSV")
            .typeName("FILE")
            .excludes(op_costs);
    const auto time = [&](const char* name, std::optional<std::string>& text, const char* description) {
        command.addOption(name, text, description).typeName("TIME").excludes(file);
    };
    time("--forward", forward_, "Time of one forward op (of one chunk)");
    time("--backward", backward_, "Time of one whole backward op");
    time("--input-grad", input_grad_, "Time of one backward op for the input");
    time("--weight-grad", weight_grad_, "Time of one backward op for the weights");
    command.addOption("--overlapped", overlapped_, "Time of an overlapped forward and backward (their sum)")
        .typeName("TIME");
    command.addOption("--comm", comm_, "Latency of a transfer between ranks (0)").typeName("TIME");
    time("--loss", loss_,
         "Time of the loss, by which the last stage's forward and either half of its backward take longer (0)");
}

void ScheduleOptions::addTransfers(Command command) {
    transfers_.add(command);
    command
        .addOption("--op-times", op_times_,
                   "Measured times of single ops, as JSON (also of `simulate --json --ops`) or CSV")
        .typeName("FILE");
}

ScheduleSpec ScheduleOptions::spec(const std::string& name, const std::string& flavor, int vpp) const {
    ScheduleSpec out{.name = name,
                     .flavor = flavor,
                     .pp = pp_,
                     .microbatches = microbatches_,
                     .vpp = vpp,
                     .group_size = group_size_,
                     .memory_limit = memory_limit_,
                     .sequence_slices = sequence_slices_};
    if (!activation_sizes_.empty())
        out.sizes = {activation_sizes_.at(0), activation_sizes_.at(1), activation_sizes_.at(2)};
    return out;
}

Result<Schedule> ScheduleOptions::generate(const std::string& name, const std::string& flavor, const CostModel& times,
                                           int vpp) const {
    ScheduleSpec wanted = spec(name, flavor, vpp);
    wanted.times = times.times;
    wanted.comm = times.comm;
    BUBBLESCOPE_ASSIGN(const auto loss, optionalTime(loss_));
    wanted.loss = loss.value_or(TimeNs{0});
    return makeSchedule(wanted);
}

Result<Schedule> ScheduleOptions::schedule(const CostModel& times) const {
    if (!file_.empty()) {
        BUBBLESCOPE_ASSIGN(const Schedule read, readScheduleFile(file_));
        return matchSchedule(read).schedule; // what a file calls itself need not be its order
    }
    if (name_.empty()) {
        return usageError("no schedule given", "use --schedule NAME --pp P --microbatches M, or --schedule-file FILE");
    }
    return generate(name_, flavor_, times, vpp_);
}

Status ScheduleOptions::open(LoadOptions& options) const {
    if (!file_.empty()) {
        BUBBLESCOPE_ASSIGN(options.schedule, schedule({}));
        return {};
    }
    const ScheduleFamily* const family = findScheduleFamily(name_);
    ScheduleSpec wanted = spec(name_, flavor_, vpp_ > 1 ? vpp_ : 0);
    if (family == nullptr) return makeSchedule(wanted).error(); // names those there are
    options.family = std::move(wanted);
    return {};
}

Result<Schedule> ScheduleOptions::sibling(const std::string& name, const CostModel& times,
                                          std::optional<int> vpp) const {
    if (!file_.empty()) return usageError("a schedule file has no siblings to compare with", "use --schedule instead");
    const auto slash = name.find('/');
    const std::string family = name.substr(0, slash);
    return generate(family.empty() ? name_ : family, slash == std::string::npos ? "" : name.substr(slash + 1), times,
                    vpp.value_or(vpp_));
}

Result<CostModel> ScheduleOptions::operatorCosts() const {
    if (forward_ || backward_ || input_grad_ || weight_grad_ || overlapped_) {
        return usageError("--op-costs gives the ops' times already",
                          "leave out --forward, --backward, --input-grad, --weight-grad and --overlapped");
    }
    BUBBLESCOPE_ASSIGN(const overlap::OpCosts costs, overlap::readOpCosts(op_costs_));
    BUBBLESCOPE_ASSIGN(const overlap::Variant variant, overlap::variantNamed(pair_cuts_));
    const overlap::PairStudy study = overlap::studyPair(costs, variant);
    CostModel model;
    std::optional<TimeNs> weight_grad; // evenly split where the model does not say
    if (overlap::weightGradTime(costs).count() > 0)
        weight_grad = std::min(study.backward, overlap::weightGradTime(costs));
    BUBBLESCOPE_ASSIGN(model.times, makeOpTimes(study.forward, study.backward, {}, weight_grad));
    model.overlapped = study.pairTime();
    return model;
}

Result<CostModel> ScheduleOptions::singleCosts(TimeNs forward) const {
    CostModel model;
    BUBBLESCOPE_ASSIGN(const auto given_forward, optionalTime(forward_));
    BUBBLESCOPE_ASSIGN(auto backward, optionalTime(backward_));
    BUBBLESCOPE_ASSIGN(const auto input_grad, optionalTime(input_grad_));
    BUBBLESCOPE_ASSIGN(const auto weight_grad, optionalTime(weight_grad_));
    BUBBLESCOPE_ASSIGN(model.overlapped, optionalTime(overlapped_));
    if (!stage_times_.empty()) {
        BUBBLESCOPE_ASSIGN(model.stages, readStageTimes(stage_times_));
        model.times = meanTimes(model.stages);
        return model;
    }
    forward = given_forward.value_or(forward);
    if (!backward && !(input_grad && weight_grad)) backward = 2 * forward;
    BUBBLESCOPE_ASSIGN(model.times, makeOpTimes(forward, backward, input_grad, weight_grad));
    return model;
}

Result<CostModel> ScheduleOptions::costs(TimeNs forward) const {
    BUBBLESCOPE_ASSIGN(CostModel model, op_costs_.empty() ? singleCosts(forward) : operatorCosts());
    BUBBLESCOPE_ASSIGN(const auto comm, optionalTime(comm_));
    model.comm = comm.value_or(TimeNs{0});
    BUBBLESCOPE_ASSIGN(const auto loss, optionalTime(loss_));
    if (loss) BUBBLESCOPE_TRY(addLoss(model, *loss));
    return model;
}

Status ScheduleOptions::addLoss(CostModel& model, TimeNs loss) const {
    constexpr std::int64_t kMaxStages = 1'000'000;
    const std::int64_t stages = std::int64_t{pp_} * vpp_;
    if (!file_.empty() || stages > kMaxStages) {
        return usageError("--loss needs the schedule's sizes and no more than a million stages", "leave --loss out");
    }
    const ScheduleFamily* const family = findScheduleFamily(name_);
    if ((family == nullptr && !name_.empty()) || stages < 1) return {}; // the schedule will say what is wrong
    const int pipelines = family == nullptr ? 1 : routes(family->placement);
    model.stages.assign(static_cast<std::size_t>(stages), model.times);
    for (std::int64_t k = 1; k <= std::min<std::int64_t>(stages, pipelines); ++k) {
        OpTimes& last = model.stages[static_cast<std::size_t>(stages - k)];
        last.forward += loss;
        last.input_grad += loss;
        last.weight_grad += loss;
        last.backward += 2 * loss;
    }
    return {};
}

Result<Planned> ScheduleOptions::plan(TimeNs forward) const {
    BUBBLESCOPE_ASSIGN(CostModel model, costs(forward));
    BUBBLESCOPE_ASSIGN(Schedule order, schedule(model));
    BUBBLESCOPE_ASSIGN(model.transfers, transfers_.model(order.pp));
    if (!op_times_.empty()) {
        BUBBLESCOPE_ASSIGN(const OpGraph graph, completeGraph(order));
        BUBBLESCOPE_ASSIGN(MeasuredTimes measured, readOpTimes(op_times_, order, graph));
        model.measured = std::make_shared<MeasuredTimes>(std::move(measured));
    }
    return Planned{std::move(order), std::move(model)};
}

} // namespace bubblescope::cli
