// What checks in bubbles cost a step: one paced run on the real clock in which every second step checks itself. Prints
// the ratio of the median step with checks to the median step without.
//
//     bench_aadiff [STEPS]

#include "core/recognise/run.h"
#include "core/schedule/families/registry.h"
#include "runtime/run.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace bubblescope;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values.empty() ? 0 : values[values.size() / 2];
}

double mean(const std::vector<double>& values) {
    return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

int measure(const std::string& name, int vpp, int steps) {
    const test::ScratchFolder folder;
    runtime::RunConfig config;
    config.schedule = makeSchedule({name, "", 4, 8, vpp}).value();
    config.steps = steps;
    config.model.layers_per_stage = 2;
    config.times.times = {TimeNs{5'000'000}, TimeNs{10'000'000}, TimeNs{5'000'000}, TimeNs{5'000'000}, TimeNs{0}};
    config.pace_tolerance = TimeNs{0}; // whatever is late, by a check or by the machine, is in the step
    config.out_dir = folder.path();
    config.aadiff.emplace();
    config.aadiff->every = 2;
    JobControl control;
    const auto summary = runtime::runPipeline(config, control);
    if (!summary.ok()) {
        fmt::print(stderr, "{}\n", summary.error().text());
        return 1;
    }
    const auto run = loadRun(summary.value().files, control);
    if (!run.ok()) {
        fmt::print(stderr, "{}\n", run.error().text());
        return 1;
    }
    std::vector<double> with;
    std::vector<double> without;
    for (const StepTimeline& step : run.value().steps) {
        if (step.index < 2) continue; // the first of each kind warms up
        (step.index % 2 == 0 ? with : without).push_back(static_cast<double>(step.wall().count()) / 1e6);
    }
    fmt::print("{:<12} {:>4} steps  with {:9.3f} ms  without {:9.3f} ms  ratio {:.5f} (means {:.5f})  late ops {}\n",
               name, steps, median(with), median(without), median(with) / median(without), mean(with) / mean(without),
               summary.value().late_ops);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 60;
    int failed = 0;
    failed += measure("1f1b", 1, steps);
    failed += measure("interleaved", 2, steps);
    failed += measure("zb-h1", 1, steps);
    return failed;
}
