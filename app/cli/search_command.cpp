#include "app/cli/command.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/stop_signals.h"
#include "app/cli/transfer_options.h"
#include "core/analysis/report.h"
#include "core/analysis/whatif/reschedule.h"
#include "core/analysis/whatif/run_model.h"
#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/cost/memory_estimate.h"
#include "core/formats/source/replacing_file.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/search/search.h"
#include "core/recognise/match_schedule.h"
#include "core/report/results/common.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace bubblescope::cli {
namespace {

struct SearchArguments {
    ScheduleOptions schedule;
    TransferOptions transfers;
    std::vector<int> memory_limit;
    std::string from;
    std::string memory_model;
    std::vector<std::string> memory_budget;
    std::string placement = "any";
    std::string split = "auto";
    std::string noise;
    std::string time_limit;
    std::optional<int> rounds;
    std::uint64_t seed = 1;
    int threads = 0;
    std::string out;
    bool json = false;
    bool csv = false;
};

/// "5%", "5" or "0.5 %".
Result<double> shareFrom(std::string_view text) {
    std::string_view number = text;
    if (number.ends_with('%')) number.remove_suffix(1);
    while (number.ends_with(' '))
        number.remove_suffix(1);
    const auto percent = parseNumber<double>(number);
    if (!percent || !(*percent >= 0 && *percent < 100))
        return usageError(fmt::format("--noise {} is not a share", text), "give per cent from 0 up to 100, such as 5%");
    return *percent / 100;
}

Status readMemory(const SearchArguments& options, SearchRequest& request) {
    for (const int limit : options.memory_limit) {
        if (limit < 1) return usageError("--memory-limit must be positive", "give one number, or one for every rank");
    }
    request.activations = options.memory_limit;
    if (options.memory_model.empty()) return {};
    if (options.memory_budget.empty())
        return usageError("--memory-model sets no limit", "give --memory-budget SIZE as well");
    BUBBLESCOPE_ASSIGN(request.model, readModelSizes(options.memory_model));
    for (const std::string& text : options.memory_budget) {
        BUBBLESCOPE_ASSIGN(const std::int64_t bytes, parseBytes(text));
        request.bytes.push_back(bytes);
    }
    return {};
}

Result<SearchRequest> requestOf(const SearchArguments& options) {
    SearchRequest request;
    request.pp = options.schedule.pp();
    request.microbatches = options.schedule.microbatches();
    request.vpp = options.schedule.vpp();
    const bool sized = options.schedule.sized();
    if (!options.from.empty() && sized)
        return usageError("--from takes the sizes from the trace", "leave --pp, --microbatches and --vpp out");
    if (options.from.empty() && (request.pp < 1 || request.microbatches < 1))
        return usageError("the sizes are missing",
                          "give --pp P --microbatches M, and --vpp V for several chunks a rank");
    if (const auto placement = placementFromName(options.placement)) request.placements = {*placement};
    request.split = options.split == "on"    ? SplitBackward::On
                    : options.split == "off" ? SplitBackward::Off
                                             : SplitBackward::Auto;
    BUBBLESCOPE_ASSIGN(request.costs, options.schedule.costs(TimeNs{1'000'000}));
    BUBBLESCOPE_ASSIGN(request.costs.transfers, options.transfers.model(request.pp));
    BUBBLESCOPE_TRY(readMemory(options, request));
    request.seed = options.seed;
    request.threads = options.threads;
    request.rounds = options.rounds;
    if (!options.noise.empty()) {
        BUBBLESCOPE_ASSIGN(const double share, shareFrom(options.noise));
        request.noise = NoiseModel{.share = share, .draws = 200, .seed = options.seed};
    }
    if (!options.time_limit.empty()) {
        BUBBLESCOPE_ASSIGN(request.time_limit, parseTime(options.time_limit));
    } else if (!options.rounds) {
        request.time_limit = std::chrono::seconds(10);
    }
    return request;
}

/// What a trace showed, where the search begins with one.
struct Recorded {
    TimeNs observed{0};  ///< what a step took
    TimeNs simulated{0}; ///< the recorded order on the mean times
    double error = 0;    ///< of the replay, as a share
};

/// Takes sizes, placement, times and the order's peak of activations from a trace, where no option gives them.
Result<Recorded> addRecorded(const SearchArguments& options, SearchRequest& request) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(Run loaded, watchLoad(control, [&] { return loadRun({options.from}, control, {}); }));
    BUBBLESCOPE_ASSIGN(const AlignedRun run, alignedRun(std::move(loaded)));
    BUBBLESCOPE_ASSIGN(const StepSelection selection, selectSteps(run.run.steps, StepRequest{}));
    BUBBLESCOPE_ASSIGN(const RunModel model, runModel(run.run, selection, run.clocks.bound()));
    const Schedule& order = run.run.schedule;
    BUBBLESCOPE_ASSIGN(const MeanPipeline pipeline, MeanPipeline::of(model, order, {}));
    request.pp = order.pp;
    request.microbatches = order.microbatches;
    request.vpp = order.vpp;
    if (request.placements.empty()) request.placements = {order.placement};
    request.costs = pipeline.costs(order, {});
    if (request.activations.empty() && request.bytes.empty()) request.activations = peakActivations(order);
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(order, request.costs));
    return Recorded{model.step_time, step.wall(), model.check.error()};
}

/// As `schedule --json`.
report::Value scheduleValue(const Schedule& schedule) {
    report::Value::List ranks;
    for (const auto& list : schedule.ranks) {
        report::Value::List ops;
        for (const Op& op : list) {
            report::Value::List entry{std::string(1, opLetter(op.kind)), op.microbatch, op.chunk};
            if (op.overlapped) entry.emplace_back("o");
            ops.emplace_back(std::move(entry));
        }
        ranks.emplace_back(std::move(ops));
    }
    return report::Value::Object{{"schedule", schedule.name}, {"flavor", schedule.flavor},
                                 {"pp", schedule.pp},         {"microbatches", schedule.microbatches},
                                 {"vpp", schedule.vpp},       {"placement", placementName(schedule.placement)},
                                 {"ranks", std::move(ranks)}};
}

report::Value noiseValue(const std::optional<NoisySteps>& noisy) {
    if (!noisy) return {};
    return report::Value::Object{{"mean_ns", TimeNs{noisy->mean}}, {"p95_ns", TimeNs{noisy->late}}};
}

report::Value familyValue(const std::optional<FamilyStep>& family) {
    if (!family) return {};
    return report::Value::Object{{"name", family->name},
                                 {"flavor", family->flavor},
                                 {"makespan_ns", family->makespan},
                                 {"noise", noiseValue(family->noisy)}};
}

void addLines(report::Document& document, const FoundOrder& found, double seconds) {
    document.line(fmt::format("{}, {} placement: makespan {}, {}", scheduleTitle(found.schedule),
                              placementName(found.schedule.placement), formatTime(found.makespan),
                              found.proven
                                  ? "which no order beats"
                                  : fmt::format("{} above what no order can beat", formatPercent(found.gap(), 2))));
    document.paragraph("", fmt::format("Bound {}: {}.", formatTime(found.bound), found.reason.text()));
    if (found.best_family) {
        const TimeNs change = found.makespan - found.best_family->makespan;
        document.line(fmt::format(
            "Best family: {}, {} ({:+.2f} % to it)", orderName(found.best_family->name, found.best_family->flavor),
            formatTime(found.best_family->makespan), 100 * fractionOf(change, found.best_family->makespan)));
    } else {
        document.line("Best family: none keeps to the memory");
    }
    if (found.noisy) {
        document.line(fmt::format("Under noise: mean {}, 95 of 100 steps take up to {}",
                                  formatTime(TimeNs{found.noisy->mean}), formatTime(TimeNs{found.noisy->late})));
        if (found.best_family && found.best_family->noisy)
            document.line(fmt::format("  best family: mean {}, up to {}",
                                      formatTime(TimeNs{found.best_family->noisy->mean}),
                                      formatTime(TimeNs{found.best_family->noisy->late})));
    }
    document.line(fmt::format("Peak activations by rank: {}", fmt::join(found.peak_activations, " ")));
    document.paragraph("",
                       fmt::format("{}, {} moves of {} judged. `--rounds {}` with the same seed repeats the answer.",
                                   pluralize(static_cast<std::size_t>(found.rounds), "round"), found.moves,
                                   found.judged, found.rounds));
    document.data("seconds", seconds);
}

void addRecorded(report::Document& document, const std::optional<Recorded>& recorded, const FoundOrder& found) {
    if (!recorded) {
        document.data("from", {});
        return;
    }
    document.data("from", report::Value::Object{{"observed_ns", recorded->observed},
                                                {"simulated_ns", recorded->simulated},
                                                {"replay_error", recorded->error}});
    const TimeNs change = found.makespan - recorded->simulated;
    document.paragraph(
        "",
        fmt::format("A recorded step takes {}; its order on the mean times of its ops {}. The order found changes that "
                    "by {:+.1f} %; the replay is off by {}. Activations are limited to what each rank held, unless "
                    "an option limits them.",
                    formatTime(recorded->observed), formatTime(recorded->simulated),
                    100 * fractionOf(change, recorded->simulated), formatPercent(recorded->error)));
}

report::Document toDocument(const FoundOrder& found, const std::optional<Recorded>& recorded, double seconds) {
    report::Document document;
    report::addSchemaVersion(document);
    document.data("schedule", scheduleValue(found.schedule));
    document.data("makespan_ns", found.makespan);
    document.data("bound_ns", found.bound);
    document.data("gap", found.gap());
    document.data("proven", found.proven);
    document.data("reason", found.reason.text());
    document.data("best_family", familyValue(found.best_family));
    document.data("peak_activations", found.peak_activations);
    document.data("noise", noiseValue(found.noisy));
    document.data("rounds", found.rounds);
    document.data("stopped", found.stopped);
    document.data("moves_judged", found.judged);
    document.data("moves", found.moves);
    document.data("ops_touched", found.touched);
    addLines(document, found, seconds);
    addRecorded(document, recorded, found);
    return document;
}

Status writeOrder(const std::string& path, const Schedule& schedule) {
    std::string text = scheduleToJson(schedule) + "\n";
    if (std::filesystem::path(path).extension() == ".csv") {
        BUBBLESCOPE_ASSIGN(text, scheduleToCsv(schedule));
    }
    ReplacingFile file(path);
    file.write(text);
    return file.commit();
}

/// Progress on a terminal, and the end that Ctrl-C asks for.
class SearchView {
public:
    bool operator()(const SearchProgress& progress) {
        if (terminal_) {
            const double gap = fractionOf(progress.makespan - progress.bound, progress.bound);
            fmt::print(stderr, "\rround {}: {}, {:.2f} % above the bound\x1b[K", progress.rounds,
                       formatTime(progress.makespan), 100 * gap);
            std::fflush(stderr);
        }
        return !signals_.came();
    }
    ~SearchView() {
        if (terminal_) fmt::print(stderr, "\r\x1b[K");
    }
    SearchView() = default;
    SearchView(const SearchView&) = delete;
    SearchView& operator=(const SearchView&) = delete;

private:
    bool terminal_ = isatty(STDERR_FILENO) != 0;
    StopSignals signals_;
};

Result<FoundOrder> watchedSearch(const SearchRequest& request) {
    const JobControl control;
    SearchView view;
    return searchOrder(request, control, [&view](const SearchProgress& progress) { return view(progress); });
}

CommandResult run(const SearchArguments& options) {
    BUBBLESCOPE_ASSIGN(SearchRequest request, requestOf(options));
    std::optional<Recorded> recorded;
    if (!options.from.empty()) {
        BUBBLESCOPE_ASSIGN(recorded, addRecorded(options, request));
    }
    const auto begin = std::chrono::steady_clock::now();
    BUBBLESCOPE_ASSIGN(FoundOrder found, watchedSearch(request));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    found.schedule = matchSchedule(found.schedule).schedule; // it may be a family's order after all
    if (!options.out.empty()) BUBBLESCOPE_TRY(writeOrder(options.out, found.schedule));
    if (options.csv) {
        BUBBLESCOPE_ASSIGN(const std::string text, scheduleToCsv(found.schedule));
        printText(text);
        return 0;
    }
    print(toDocument(found, recorded, took.count()), options.json);
    if (!options.json && !options.out.empty()) printText(fmt::format("\nOrder written to {}\n", options.out));
    return 0;
}

} // namespace

void addSearchCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("search", "Search the order with the shortest step for given times and memory, with a bound");
    const auto options = std::make_shared<SearchArguments>();
    options->schedule.addSizes(command);
    command
        .addOption("--from", options->from,
                   "Take sizes, placement, mean times and what ranks held from a trace, in place of those options")
        .typeName("TRACE");
    options->schedule.addTimes(command);
    options->transfers.add(command);
    const Option limit =
        command
            .addOption("--memory-limit", options->memory_limit,
                       "Activations a rank may hold, in forward ops of one chunk; one for all, or one a rank")
            .typeName("N,…")
            .delimiter(',');
    const Option model =
        command.addOption("--memory-model", options->memory_model, "Tensor sizes of the model's layers, as JSON")
            .typeName("FILE")
            .excludes(limit);
    command
        .addOption("--memory-budget", options->memory_budget,
                   "Memory of a rank, such as 80GiB; one for all, or one a rank")
        .typeName("SIZE,…")
        .delimiter(',')
        .needs(model);
    command.addOption("--placement", options->placement, "Which rank holds which stage: any, loop or v (any)")
        .typeName("NAME")
        .oneOf({"any", "loop", "v"});
    command
        .addOption("--split-backward", options->split,
                   "Split backwards into input and weight gradients: auto = where it helps, on, off (auto)")
        .typeName("MODE")
        .oneOf({"auto", "on", "off"});
    command
        .addOption("--noise", options->noise,
                   "Ops take up to this share longer or shorter: searches the order with the shortest mean step")
        .typeName("SHARE");
    command.addOption("--time-limit", options->time_limit, "No round of the search begins after it (10s)")
        .typeName("TIME");
    command.addOption("--rounds", options->rounds, "So many rounds at the most: repeats an answer exactly")
        .typeName("N")
        .notNegative();
    command.addOption("--seed", options->seed, "Of what the search draws (1)").typeName("N");
    command.addOption("--threads", options->threads, "Threads; the answer does not depend on them (all cores)")
        .typeName("N")
        .notNegative();
    command.addOption("--out", options->out, "Write the order: as PyTorch's CSV where the name ends in .csv, else JSON")
        .typeName("FILE");
    const Option json = command.addFlag("--json", options->json, "As a JSON document");
    command.addFlag("--csv", options->csv, "The order alone, as PyTorch's schedule file").excludes(json);
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
