// The cost of checks in bubbles for a step: runs on the real clock in which every second step checks itself. Prints the
// ratio
// of the median step with checks to the median step without; where ops take their own time, the ratio of each step with
// checks to its neighbours without, as a median and a trimmed mean with their 95 % intervals, and the share of the
// planned replays that were done. COST is that of run --aadiff-cost.
//
//     bench_aadiff [STEPS]
//     bench_aadiff unpaced RANKS WIDTH SEQUENCE STEPS COST

#include "core/families/registry.h"
#include "core/recognise/run.h"
#include "runtime/run.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>
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
    config.pace_tolerance = TimeNs{0}; // a delay, by a check or by the machine, is part of the step
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

double trimmedMean(std::vector<double> values) {
    if (values.empty()) return 1;
    std::ranges::sort(values);
    const auto cut = static_cast<std::ptrdiff_t>(values.size() / 10);
    return mean({values.begin() + cut, values.end() - cut});
}

/// The median, and the range of 95 % of the resampled medians.
std::string withInterval(const std::vector<double>& values, double (*middle)(std::vector<double>)) {
    if (values.empty()) return "none";
    constexpr std::size_t kSamples = 1000;
    std::mt19937_64 random(1);
    std::vector<double> middles;
    std::vector<double> sample(values.size());
    for (std::size_t i = 0; i < kSamples; ++i) {
        for (double& one : sample)
            one = values[random() % values.size()];
        middles.push_back(middle(sample));
    }
    std::ranges::sort(middles);
    return fmt::format("{:.4f} ({:.4f} to {:.4f})", middle(values), middles[kSamples / 40],
                       middles[kSamples - 1 - kSamples / 40]);
}

/// Compares steps with digests or checks to their unchecked neighbours, and all others to theirs.
int measureUnpaced(int ranks, int width, int sequence, int steps, double cost) {
    const test::ScratchFolder folder;
    runtime::RunConfig config;
    config.schedule = makeSchedule({"1f1b", "", ranks, 8, 1}).value();
    config.steps = steps;
    config.model.width = width;
    config.model.sequence = sequence;
    config.paced = false;
    config.out_dir = folder.path();
    config.aadiff.emplace();
    config.aadiff->every = 2;
    config.aadiff->cost = cost;
    JobControl control;
    const auto summary = runtime::runPipeline(config, control);
    const auto run = summary.ok() ? loadRun(summary.value().files, control) : Result<Run>(summary.error());
    if (!run.ok()) {
        fmt::print(stderr, "{}\n", run.error().text());
        return 1;
    }
    constexpr std::int64_t kFirst = 32; // before, ranks only measure
    std::set<std::int64_t> carry;
    for (const DigestRecord& digest : run.value().checks.digests)
        carry.insert(digest.step);
    std::size_t planned = 0;
    std::size_t done = 0;
    for (const CheckRecord& check : run.value().checks.checks) {
        if (check.kind != CheckKind::Replay || check.step < kFirst) continue;
        ++planned;
        done += check.outcome == CheckOutcome::Equal ? 1U : 0U;
        carry.insert(check.step);
    }
    std::map<std::int64_t, double> walls;
    for (const StepTimeline& step : run.value().steps)
        walls[step.index] = static_cast<double>(step.wall().count()) / 1e6;
    std::vector<double> carrying;
    std::vector<double> others;
    std::vector<double> without;
    for (std::int64_t step = kFirst; walls.contains(step + 1); step += 2) {
        const double neighbours = (walls[step - 1] + walls[step + 1]) / 2;
        (carry.contains(step) ? carrying : others).push_back(walls[step] / neighbours);
        without.push_back(neighbours);
    }
    fmt::print("{} ranks, width {}, sequence {}, cost {:.2f} %: {:.2f} ms; {} of {} replays; {} steps carry checks or "
               "digests: {} times as long in the median, {} in the mean; {} others: {} and {}\n",
               ranks, width, sequence, 100 * cost, median(without), done, planned, carrying.size(),
               withInterval(carrying, median), withInterval(carrying, trimmedMean), others.size(),
               withInterval(others, median), withInterval(others, trimmedMean));
    const double share = static_cast<double>(carrying.size()) / static_cast<double>(carrying.size() + others.size());
    fmt::print("    a step is {:.4f} times as long\n",
               1 + share * (trimmedMean(carrying) - 1) + (1 - share) * (others.empty() ? 0 : trimmedMean(others) - 1));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 6 && std::string(argv[1]) == "unpaced") {
        return measureUnpaced(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5]),
                              std::atof(argv[6]) / 100);
    }
    const int steps = argc > 1 ? std::atoi(argv[1]) : 60;
    int failed = 0;
    failed += measure("1f1b", 1, steps);
    failed += measure("interleaved", 2, steps);
    failed += measure("zb-h1", 1, steps);
    return failed;
}
