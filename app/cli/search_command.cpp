#include "app/cli/command.h"
#include "app/cli/end_in_time.h"
#include "app/cli/load_watch.h"
#include "app/cli/lowering_options.h"
#include "app/cli/order_output.h"
#include "app/cli/output.h"
#include "app/cli/queue_options.h"
#include "app/cli/schedule_options.h"
#include "app/cli/stop_signals.h"
#include "app/cli/transfer_options.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/bytes.h"
#include "core/cost/model_presets.h"
#include "core/optimize/search/search.h"
#include "core/recognise/match_schedule.h"
#include "core/report/results/search_document.h"
#include "core/report/results/validation.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>

namespace bubblescope::cli {
namespace {

struct SearchArguments {
    OrderRequest request;
    LoweringRequest lowering;
    QueueRequest queues;
    OrderOutput output;
    std::vector<std::string> moves;
    WeightTimes copies;
    bool json = false;
    bool csv = false;

    [[nodiscard]] bool asksForActions() const { return lowering.wanted() || queues.given(); }
};

/// Parses sizes such as "80GiB,40GiB".
Result<std::vector<std::int64_t>> parseSizes(std::string_view text) {
    std::vector<std::int64_t> sizes;
    while (!text.empty()) {
        const std::string_view size = text.substr(0, text.find(','));
        text.remove_prefix(std::min(size.size() + 1, text.size()));
        BUBBLESCOPE_ASSIGN(sizes.emplace_back(), parseBytes(size));
    }
    return sizes;
}

/// Parses the words that the option accepts.
Result<SplitBackward> splitBackward(std::string_view word) {
    return word == "on" ? SplitBackward::On : word == "off" ? SplitBackward::Off : SplitBackward::Auto;
}

/// Requests a job to stop on a signal or at a time limit.
class StoppedJob {
public:
    explicit StoppedJob(const StopSignals& signals, std::optional<std::chrono::milliseconds> limit = {})
        : until_(limit ? std::optional(std::chrono::steady_clock::now() + *limit) : std::nullopt) {
        control_.stop = ask_.get_token();
        control_.at_check = [this, descriptor = signals.descriptor()] {
            pollfd came{descriptor, POLLIN, 0};
            const bool over = until_ && std::chrono::steady_clock::now() >= *until_;
            if (over || ::poll(&came, 1, 0) > 0) ask_.request_stop();
        };
    }
    [[nodiscard]] const JobControl& control() const { return control_; }

private:
    std::optional<std::chrono::steady_clock::time_point> until_;
    std::stop_source ask_;
    JobControl control_;
};

/// Shows progress on a terminal, and ends the search on Ctrl+C.
class SearchView {
public:
    explicit SearchView(StopSignals& signals) : signals_(signals) {}
    bool operator()(const SearchProgress& progress) {
        if (terminal_) {
            fmt::print(stderr, "\rround {}: {}, {:.2f} % above the bound\x1b[K", progress.rounds,
                       formatTime(progress.makespan), 100 * progress.gap());
            std::fflush(stderr);
        }
        return !signals_.came();
    }
    ~SearchView() {
        if (terminal_) fmt::print(stderr, "\r\x1b[K");
    }
    SearchView(const SearchView&) = delete;
    SearchView& operator=(const SearchView&) = delete;

private:
    bool terminal_ = isatty(STDERR_FILENO) != 0;
    StopSignals& signals_;
};

Result<FoundOrder> watchedSearch(const SearchRequest& request) {
    StopSignals signals;
    const EndInTime in_time(signals);
    SearchView view(signals);
    const StoppedJob searched(signals);
    BUBBLESCOPE_ASSIGN(FoundOrder found, searchOrder(request, searched.control(),
                                                     [&view](const SearchProgress& now) { return view(now); }));
    // The order may belong to a family, but for large orders this takes a long time to determine.
    constexpr std::chrono::milliseconds kNaming{500};
    const StoppedJob named(signals, kNaming);
    if (request.own_flavor) return found; // named
    found.schedule = matchSchedule(found.schedule, {}, named.control()).schedule;
    return found;
}

/// The order with the framework's actions, by default PyTorch's, if actions were requested.
Result<LoweredSchedule> loweredOrder(const SearchArguments& options, const Schedule& order) {
    LoweringRequest lowering = options.lowering;
    if (options.asksForActions() && !lowering.wanted()) lowering.lower = "torch";
    return lowering.lowered(order, {});
}

/// Reports if the order can hang.
Status addVerdict(const SearchArguments& options, const LoweredSchedule& lowered, report::Document& document) {
    if (!options.asksForActions()) return {};
    BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(lowered.order));
    const LoweredValidation found = validateLowered(lowered, {}, queues);
    for (const ScheduleProblem& problem : found.problems)
        document.line(problem.message.text());
    if (found.hang) report::addVerdicts(document, found, queues, verdictsOfAll(lowered, queues));
    return {};
}

/// Reports errors in the options for actions and queues, which the search would take for orders that cannot run.
Status checkActions(const SearchArguments& options, const SearchRequest& request) {
    if (!options.asksForActions()) return {};
    BUBBLESCOPE_ASSIGN(const Schedule usual, makeSchedule({"1f1b", "", request.pp, request.microbatches, 1}));
    BUBBLESCOPE_ASSIGN([[maybe_unused]] const LoweredSchedule lowered, loweredOrder(options, usual));
    Schedule shape;
    shape.pp = request.pp;
    shape.vpp = request.vpp;
    shape.microbatches = request.microbatches;
    if (!request.placements.empty()) shape.placement = request.placements.front();
    BUBBLESCOPE_ASSIGN([[maybe_unused]] const QueueModel queues, options.queues.model(shape));
    return {};
}

/// Limits the search to a framework's own schedules, if it runs no others.
Status keepToFramework(const SearchArguments& options, SearchRequest& request) {
    request.own_flavor = options.lowering.ownFlavor();
    if (!request.own_flavor) return {};
    if (request.split == SplitBackward::On)
        return usageError(fmt::format("{} runs only whole backwards", Field("lower").is(options.lowering.lower)),
                          "omit --split-backward on");
    request.split = SplitBackward::Off;
    return {};
}

/// The simulation of an order with a framework's sends and receives in the queues of communicators; empty if PyTorch's
/// transfers do not queue. `costs` and `options` outlive the result.
std::function<Result<StepTimeline>(const Schedule&)> queuedStep(const SearchArguments& options,
                                                                const CostModel& costs) {
    if (!options.queues.given() && !options.lowering.ownFlavor()) return {};
    return [&](const Schedule& order) -> Result<StepTimeline> {
        BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, loweredOrder(options, order));
        BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(lowered.order));
        if (!wrongPairings(lowered, queues.communicators).empty())
            return inputError("search", "this order's sends and receives do not match", "");
        BUBBLESCOPE_ASSIGN(LoweredStep step, simulateLowered(lowered, costs, queues));
        return std::move(step.step);
    };
}

/// Searches for an order that fits with moves of activations.
CommandResult planMoves(const SearchArguments& options, const SearchRequest& request) {
    MemoryMoves moves;
    const auto has = [&](const char* name) { return std::ranges::find(options.moves, name) != options.moves.end(); };
    moves.offload = has("offload");
    moves.recompute = has("recompute");
    moves.balance = has("balance");
    moves.times = options.copies;
    StopSignals signals;
    const EndInTime in_time(signals);
    const StoppedJob searched(signals);
    const auto begin = std::chrono::steady_clock::now();
    BUBBLESCOPE_ASSIGN(const FoundPlan found, searchWithMoves(request, moves, searched.control()));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    BUBBLESCOPE_ASSIGN(const std::optional<OrderSetup> setup, options.output.write(found.plan.lowered));
    report::Document document = report::foundPlanDocument(found, request.bytes, took.count());
    addSetup(document, setup);
    print(document, options.json);
    if (!options.json) printText(options.output.writtenLine());
    return 0;
}

CommandResult run(const SearchArguments& options) {
    BUBBLESCOPE_ASSIGN(SearchRequest request, options.request.request());
    if (!options.moves.empty()) return planMoves(options, request);
    std::optional<RecordedOrder> recorded;
    if (!options.request.from.empty()) {
        JobControl control;
        BUBBLESCOPE_ASSIGN(Run loaded,
                           watchLoad(control, [&] { return loadRun({options.request.from}, control, {}); }));
        BUBBLESCOPE_ASSIGN(const AlignedRun aligned, alignedRun(std::move(loaded)));
        BUBBLESCOPE_ASSIGN(recorded, takeRecorded(aligned.run, aligned.clocks, request));
    }
    BUBBLESCOPE_TRY(checkActions(options, request));
    BUBBLESCOPE_TRY(keepToFramework(options, request));
    request.step = queuedStep(options, request.costs);
    if (request.step && request.noise)
        return usageError(fmt::format("{} cannot be combined with {}", Field("noise"),
                                      options.queues.given() ? Field("communicators") : Field("lower")),
                          fmt::format("leave {} out", Field("noise")));
    const auto begin = std::chrono::steady_clock::now();
    BUBBLESCOPE_ASSIGN(FoundOrder found, watchedSearch(request));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, loweredOrder(options, found.schedule));
    BUBBLESCOPE_ASSIGN(const std::optional<OrderSetup> setup, options.lowering.wanted()
                                                                  ? options.output.write(lowered)
                                                                  : options.output.write(found.schedule));
    if (options.csv) {
        BUBBLESCOPE_ASSIGN(const std::string text,
                           options.lowering.wanted() ? scheduleToCsv(lowered) : scheduleToCsv(found.schedule));
        printText(text);
        return 0;
    }
    report::Document document = report::foundOrderDocument(found, recorded, took.count());
    BUBBLESCOPE_TRY(addVerdict(options, lowered, document));
    addSetup(document, setup);
    print(document, options.json);
    if (!options.json) printText(options.output.writtenLine());
    return 0;
}

} // namespace

void addSearchCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("search", "Search for the shortest order for given times and memory, with a lower bound");
    const auto options = std::make_shared<SearchArguments>();
    command.examples({"search --pp 4 --microbatches 8 --stage-times times.json --out order.csv",
                      "search --from my-run --time-limit 60s"});
    addSizeOptions(command, options->request.schedule);
    const Option from =
        command
            .addOption("--from", options->request.from,
                       "Take sizes, placement, mean times and memory use from a trace instead of from options")
            .typeName("TRACE");
    addTimeOptions(command, options->request.schedule);
    addTransferOptions(command, options->request.schedule);
    const Option limit =
        command
            .addOption(
                "--memory-limit", options->request.search.activations,
                "Limit on activations per rank, counted in forward ops of one chunk; one for all, or one per rank")
            .typeName("N,…")
            .delimiter(',');
    const Option model =
        command
            .addOption("--memory-model", options->request.memory_model, "Tensor sizes of the model's layers, as JSON")
            .typeName("FILE")
            .excludes(limit);
    command
        .addOption("--memory-preset", options->request.memory_preset,
                   "Tensor sizes of a known model, such as llama3-8b")
        .typeName("MODEL")
        .suggests(modelPresetNames())
        .excludes(limit)
        .excludes(model);
    command
        .addParsedList("--memory-budget", options->request.search.bytes, parseSizes,
                       "Memory per rank, such as 80GiB; one for all, or one per rank")
        .typeName("SIZE,…")
        .delimiter(',');
    command
        .addOption("--moves", options->moves,
                   "What to do with activations that do not fit: offload (to the host), recompute, balance (to the "
                   "opposite rank)")
        .typeName("LIST")
        .delimiter(',')
        .oneOf({"offload", "recompute", "balance"})
        .excludes(from);
    addCopyTimeOptions(command, options->copies);
    command
        .addOption(
            "--placement", options->request.placement,
            "Placement of stages on ranks: any, loop, v, a file of 'stage,rank' lines, or a schedule (default: any)")
        .typeName("NAME|FILE");
    command
        .addOption("--op-times", options->request.schedule.op_times,
                   "Times of single ops, e.g. for micro-batches of unequal length; same file format as `simulate`")
        .typeName("FILE")
        .excludes(from);
    const Option second =
        command
            .addOption("--second", options->request.second,
                       "Stage times of a second model that runs on the same ranks in the opposite direction, in the "
                       "form of --stage-times; with half as many stages, it runs as two copies")
            .typeName("FILE")
            .excludes(from)
            .excludes(model);
    command
        .addOption("--second-microbatches", options->request.second_microbatches,
                   "Micro-batches per copy of the second model (default: as many in total as the first model has)")
        .typeName("M")
        .positive()
        .needs(second);
    command.addFlag("--overlap-pairs", options->request.search.pairs,
                    "Allow overlapped pairs of a forward and a backward, which take as long as --overlapped");
    command
        .addParsed("--split-backward", options->request.search.split, splitBackward,
                   "Split backwards into input and weight gradients: auto (default: if it helps), on or off")
        .typeName("MODE")
        .oneOf({"auto", "on", "off"});
    command
        .addParsed("--noise", options->request.noise, parseNoise,
                   "Assume that op times vary by up to this share, and search for the shortest mean step")
        .typeName("SHARE");
    command.addParsed("--time-limit", options->request.search.time_limit, parseTime, "Time limit for the search (10s)")
        .typeName("TIME");
    command.addOption("--rounds", options->request.search.rounds, "Run at most N rounds; makes the result reproducible")
        .typeName("N")
        .notNegative();
    command.addOption("--seed", options->request.search.seed, "Random seed for the search (1)").typeName("N");
    command
        .addOption("--threads", options->request.search.threads,
                   "Threads (default: one per core); the result does not depend on their number")
        .typeName("N")
        .notNegative();
    options->output.add(command);
    addLoweringOptions(command, options->lowering);
    addQueueOptions(command, options->queues);
    const Option json = command.addFlag("--json", options->json, "Print a JSON document");
    command.addFlag("--csv", options->csv, "Print only the order, as a PyTorch schedule file").excludes(json);
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
