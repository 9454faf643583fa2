#include "runtime/checks/check_setup.h"

#include "core/aadiff/measured_plan.h"
#include "runtime/checks/check_broker.h"
#include "runtime/engine/bubble_hook.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/stage_layout.h"
#include "runtime/model/stage_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace bubblescope::runtime {
namespace {

std::vector<LayerRange> layersOf(const CheckSetup::Of& of) {
    const int apart = routes(of.schedule.placement);
    std::vector<LayerRange> layers;
    for (int stage = 0; stage < of.schedule.stages(); ++stage)
        layers.push_back(layersAt(of.model, stage / apart, of.schedule.stages() / apart));
    return layers;
}

/// A check holds copies of its op's inputs, of the activations between its ops, and of its result.
constexpr std::int64_t kCopies = 3;

/// Writes numbers to a file for numpy.load() (format 1.0), in a folder that is created if necessary. Returns false if
/// the file cannot be written.
bool writeNpy(const std::filesystem::path& path, std::span<const float> values) {
    // The magic string, a version, the length of the header in two bytes, and the header; in total a multiple of 64
    // bytes.
    constexpr std::size_t kBefore = 10;
    constexpr std::size_t kAligned = 64;
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", values.size());
    header.append(kAligned - (kBefore + header.size() + 1) % kAligned, ' ');
    header += '\n';
    std::string begin("\x93NUMPY\x01\x00", 8);
    begin += static_cast<char>(header.size() & 0xFFU);
    begin += static_cast<char>(header.size() >> 8U);
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    // The name can be guessed, so an existing file is removed, and the new one is opened without following links ("x").
    std::filesystem::remove(path, ignored);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wbx"), &std::fclose);
    if (!file) return false;
    begin += header;
    return std::fwrite(begin.data(), 1, begin.size(), file.get()) == begin.size() &&
           std::fwrite(values.data(), sizeof(float), values.size(), file.get()) == values.size() &&
           std::fflush(file.get()) == 0;
}

} // namespace

Result<std::unique_ptr<CheckSetup>> CheckSetup::make(const Of& of, const AadiffOptions& options) {
    PlanLimits limits;
    limits.margin = options.margin;
    for (const LayerRange& layers : runtime::layersOf(of))
        limits.layers.push_back(layers.count);
    if (options.memory) {
        for (const StageMemory& stage : memoryModelOf(of.model, of.schedule).stages)
            limits.kept_bytes.push_back(kCopies * stage.activations.forward);
        limits.spare_bytes.assign(of.schedule.ranks.size(), *options.memory);
    }
    BUBBLESCOPE_ASSIGN(AadiffStudy study, studyAadiff(of.schedule, timesOrUnits(of.times), limits));
    return std::unique_ptr<CheckSetup>(new CheckSetup(of, options, std::move(limits), std::move(study)));
}

CheckSetup::CheckSetup(const Of& of, const AadiffOptions& wanted, PlanLimits by, AadiffStudy planned)
    : options(wanted), limits(std::move(by)), study(std::move(planned)), measured(!of.paced),
      chooses_steps(!of.paced && !of.on_host), holds(of.paced && study.retiming()),
      broker(std::make_unique<LocalCheckBroker>(of.ranks_here)), layers_(runtime::layersOf(of)),
      ranks_here_(of.ranks_here), dir_(of.dir) {
    head_ = of.model.layersBefore(of.schedule.stages() / routes(of.schedule.placement)) + 1;
}

double CheckSetup::shareOfOne() const {
    constexpr double kKinds = 2;
    return !measured || chooses_steps || options.cost >= 1 ? 1 : options.cost / kKinds;
}

void CheckSetup::planned(Rank world, const RankPlan& plan, int interval) {
    const std::lock_guard lock(planning_);
    const int rank = world.value;
    coverage_.first_rank = have_planned_ == 0 ? rank : std::min(coverage_.first_rank, rank);
    coverage_.last_rank = std::max(coverage_.last_rank, rank);
    coverage_.units += plan.units.size();
    coverage_.covered += plan.units.size() - plan.never.size();
    coverage_.steps = std::max(coverage_.steps, interval * static_cast<int>(plan.steps.size()));
    std::size_t checks = 0;
    for (const auto& step : plan.steps)
        checks += step.size();
    if (!plan.steps.empty())
        coverage_.per_step += static_cast<double>(checks) / (interval * static_cast<double>(plan.steps.size()));
    if (++have_planned_ == ranks_here_ && options.on_plan) options.on_plan(coverage_);
}

std::optional<int> CheckSetup::stepsToFull() const {
    if (!measured) return study.plan().stepsToFull();
    const std::lock_guard lock(planning_);
    if (have_planned_ < ranks_here_ || coverage_.covered < coverage_.units) return std::nullopt;
    return MeasuredPlan::kMeasuredSteps + coverage_.steps;
}

void CheckSetup::keepTensors(Rank world, const CheckRecord& check, const ShownTensor& first,
                             const ShownTensor& second) {
    const std::vector<float> first_values = first.valuesNow();
    const std::vector<float> second_values = second.valuesNow();
    const auto bytes = static_cast<std::int64_t>((first_values.size() + second_values.size()) * sizeof(float));
    const std::lock_guard lock(disk_);
    if (dir_.empty() || bytes == 0 || on_disk_ + bytes > options.bytes_on_disk) return;
    std::string tensor = check.tensor;
    std::ranges::replace(tensor, ' ', '-');
    const std::filesystem::path stem =
        dir_ / "mismatches" /
        fmt::format("step{}-rank{}-{}-layer{}-{}", check.step, world.value, opName(check.op), check.layer, tensor);
    if (writeNpy(stem.string() + "-first.npy", first_values) && writeNpy(stem.string() + "-second.npy", second_values))
        on_disk_ += bytes;
}

} // namespace bubblescope::runtime
