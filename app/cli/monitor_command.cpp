#include "app/cli/command.h"
#include "app/cli/end_in_time.h"
#include "app/cli/fail_on.h"
#include "app/cli/model_size_options.h"
#include "app/cli/monitor_output.h"
#include "app/cli/monitor_streams.h"
#include "app/cli/otlp_options.h"
#include "app/cli/output.h"
#include "app/cli/stop_signals.h"
#include "core/base/process_info.h"
#include "core/base/text.h"
#include "core/cost/devices.h"
#include "core/live/alert.h"
#include "core/live/live_analyzer.h"
#include "core/live/metrics.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_receiver.h"
#include "core/report/json.h"
#include "core/telemetry/run_telemetry.h"
#include "core/timeline/step_selection.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace bubblescope::cli {
namespace {

using live::LiveAnalyzer;
using live::LiveEvent;

struct MonitorArguments {
    std::vector<std::string> folders;
    std::optional<int> steps;
    std::vector<std::string> fail_on;
    Budgets budgets;
    std::vector<std::string> thresholds;
    std::string metrics;
    OtlpOptions otlp;
    std::string alert;
    TimeNs alert_interval{std::chrono::minutes(5)};
    TimeNs patience{std::chrono::seconds(10)};
    StreamOptions streams;
    ModelUseRequest use;
    bool json = false;
};

/// Each screen overwrites the previous one.
class Screen {
public:
    void show(const LiveAnalyzer& analyzer) {
        winsize size{};
        constexpr std::size_t kLines = 24;
        const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
        const std::string text = liveText(analyzer, (known ? size.ws_row : kLines) - 1);
        if (lines_ > 0) fmt::print("\x1b[{}A\x1b[J", lines_);
        printText(text);
        std::fflush(stdout);
        lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    }

private:
    std::size_t lines_ = 0;
};

std::string lineOf(const report::Value& document) {
    return report::toJson(document, report::JsonLayout::OneLine) + "\n";
}

void printLine(const report::Value& document) {
    fmt::print("{}", lineOf(document));
    std::fflush(stdout);
}

/// Sends events to a telemetry collector, and prints each kind of failure once.
class TelemetryOutput {
public:
    explicit TelemetryOutput(otlp::Collector collector)
        : url_(collector.url), began_(otlp::utcNow()),
          telemetry_(fmt::format("{}/{}", began_.count(), ::getpid()), began_), exporter_(std::move(collector)) {}

    void take(std::span<const LiveEvent> events, const LiveAnalyzer& analyzer) {
        report();
        const bool news = std::ranges::any_of(events, [](const LiveEvent& event) {
            using enum LiveEvent::Kind;
            return event.kind == StepClosed || event.kind == AnomalyFound || event.kind == Mismatch;
        });
        if (!news) return;
        otlp::Telemetry made = telemetry_.of(events, analyzer, otlp::utcNow());
        made.version = BUBBLESCOPE_VERSION;
        exporter_.add(std::move(made));
    }

    void finish(std::chrono::milliseconds longest) {
        const std::size_t unsent = exporter_.finish(longest) + exporter_.dropped();
        report();
        const auto loss = [this](std::string_view what, std::size_t reports) {
            if (reports > 0)
                printError(fmt::format("the collector {} {} {}", url_, what, pluralize(reports, "report")));
        };
        loss("did not receive", unsent);
        loss("rejected data of", exporter_.rejected());
    }

private:
    void report() {
        for (const Error& problem : exporter_.takeProblems())
            printError(problem);
    }

    std::string url_;
    TimeNs began_;
    telemetry::LiveTelemetry telemetry_;
    otlp::Exporter exporter_;
};

class Monitor {
public:
    Monitor(const MonitorArguments& options, live::LiveOptions live, live::SegmentFollower follower,
            std::optional<live::StreamReceiver> receiver, std::optional<live::MetricsEndpoint> metrics,
            std::unique_ptr<TelemetryOutput> exporter, live::CapturedRun captured)
        : options_(options), patience_(live.assembly.patience), analyzer_(std::move(live)),
          follower_(std::move(follower)), receiver_(std::move(receiver)), captured_(std::move(captured)),
          metrics_(std::move(metrics)), exporter_(std::move(exporter)), alert_(options.alert, {options.alert_interval}),
          lines_(options.json || ::isatty(STDOUT_FILENO) == 0) {}

    CommandResult run() {
        StopSignals stop;
        const EndInTime in_time(stop);
        while (!stop.came() && !turn(stop.descriptor())) {
            BUBBLESCOPE_TRY(lookForSilence());
        }
        const std::vector<LiveEvent> last = analyzer_.conclude();
        for (const LiveEvent& event : last)
            take(event);
        if (exporter_) exporter_->take(last, analyzer_);
        if (lines_) {
            printLine(liveSummaryOf(analyzer_));
        } else {
            screen_.show(analyzer_);
            printText(answerText(analyzer_));
        }
        if (receiver_) receiver_->finish(std::chrono::milliseconds(stop.came() ? 400 : 2000));
        finishAlerts(stop);
        if (exporter_) exporter_->finish(std::chrono::milliseconds(stop.came() ? 400 : 2000));
        return exitCodeOf();
    }

private:
    /// Returns true when there is nothing left to watch.
    bool turn(int stop) {
        const bool more = follower_.read(analyzer_, monitorNow());
        for (const std::string& problem : follower_.problems())
            if (unreadable_.insert(problem).second) printError(problem);
        if (receiver_) receiver_->poll(analyzer_, monitorNow());
        captured_.look(analyzer_, monitorNow());
        if (receiver_ && receiver_->storeProblem() != reported_) {
            reported_ = receiver_->storeProblem();
            printError(reported_);
        }
        if (receiver_) reportSenders();
        const std::vector<LiveEvent> events = analyzer_.advance(monitorNow());
        for (const LiveEvent& event : events)
            take(event);
        if (exporter_) exporter_->take(events, analyzer_);
        checkBudgets();
        alert_.tend(monitorNow());
        if (!lines_ && (!events.empty() || monitorNow() - shown_ >= std::chrono::seconds(1))) {
            screen_.show(analyzer_);
            shown_ = monitorNow();
        }
        if (metrics_) metrics_->serve([this] { return exposition(analyzer_); });
        const bool enough = options_.steps && analyzer_.counts().steps >= *options_.steps;
        if (enough || (analyzer_.runEnded() && !more)) return true;
        if (!more) wait(stop);
        return false;
    }

    /// Reports senders that left before the end of their data, and those that have returned.
    void reportSenders() {
        constexpr TimeNs kReturns = live::StreamReceiver::kReturns;
        for (const live::StreamReceiver::SenderNews& sender : receiver_->takeNews(analyzer_, monitorNow(), kReturns)) {
            if (sender.back) {
                printError(fmt::format("sender {} has reconnected", sender.name));
                continue;
            }
            printError(fmt::format("sender {} ({}) has been disconnected for 5 s: {}; {} of its streams did not end",
                                   sender.name, sender.address,
                                   sender.reason.empty() ? "it closed the connection" : sender.reason, sender.streams));
        }
    }

    /// Reports files without recognised content and folders that do not appear, each only once. Returns an error if
    /// there is nothing else to wait for.
    Status lookForSilence() {
        const TimeNs now = monitorNow();
        const std::int64_t bytes = analyzer_.counts().bytes;
        if (bytes != bytes_ || (follower_.files() == 0 && anyFolder())) grew_ = now;
        bytes_ = bytes;
        if (now - grew_ < patience_) return {};
        if (!receiver_ && analyzer_.capturedEnded() && captured_.isSettled())
            return runError(analyzer_.info() ? "the job has ended, and its recording can no longer be read"
                                             : "the job has ended, and no pipeline was found in its recording",
                            captured_.problem().empty() ? "open it with `bubblescope analyze`" : captured_.problem());
        const std::vector<std::filesystem::path> silent = follower_.unstated(analyzer_);
        constexpr std::string_view kSilent = "does not identify a rank: it is empty, or its start is corrupt";
        if (!receiver_ && silent.size() == follower_.files()) {
            if (silent.empty())
                return inputError(options_.folders.front(),
                                  fmt::format("the folder did not appear within {}", formatTime(patience_)),
                                  "specify the folder that the run records into, or use a longer --patience");
            return inputError(silent.front().string(), std::string(kSilent), "record the run again");
        }
        if (!reported_silent_) {
            for (const std::filesystem::path& file : silent)
                printError(fmt::format("{}: {}", file.string(), kSilent));
        }
        reported_silent_ = true;
        return {};
    }

    [[nodiscard]] bool anyFolder() const {
        std::error_code ignored;
        return options_.folders.empty() || std::ranges::any_of(options_.folders, [&](const std::string& folder) {
                   return std::filesystem::exists(folder, ignored);
               });
    }

    void wait(int stop) {
        // With many ranks, data arrives all the time, so the data of several milliseconds is read together.
        constexpr int kTogether = 10;
        constexpr int kLongest = 200; ///< interval for ending steps and reading files of other hosts
        std::array<pollfd, 4> waited{{{stop, POLLIN, 0},
                                      {metrics_ ? metrics_->descriptor() : -1, POLLIN, 0},
                                      {follower_.descriptor(), POLLIN, 0},
                                      {receiver_ ? receiver_->descriptor() : -1, POLLIN, 0}}};
        ::poll(waited.data(), 2, kTogether);
        if (waited[0].revents == 0 && waited[1].revents == 0) ::poll(waited.data(), waited.size(), kLongest);
    }

    void take(const LiveEvent& event) {
        if (lines_) printLine(eventOf(event, analyzer_));
        if (event.kind == LiveEvent::Kind::AnomalyFound) {
            const Anomaly& anomaly = event.anomaly->anomaly;
            failed_ = failed_ || failsOnFinding(options_.fail_on, anomaly.kind);
            if (anomaly.severity == Severity::Notice) return;
            alert("anomaly", std::string(anomalyKindName(anomaly.kind)), severityName(anomaly.severity),
                  anomaly.rank ? std::to_string(anomaly.rank->value) : "", anomaly.message.text(), event);
        } else if (event.kind == LiveEvent::Kind::Mismatch) {
            failed_ = failed_ || failsOnFinding(options_.fail_on, AnomalyKind::AadiffMismatch);
            alert("mismatch", "aadiff-mismatch", "serious", "", event.text, event);
        } else if (event.kind == LiveEvent::Kind::RankChanged &&
                   (event.rank.state == live::RankState::Gone || event.rank.state == live::RankState::Late)) {
            const std::string state(rankStateName(event.rank.state));
            alert("rank", "rank-" + state, "serious", std::to_string(event.rank.rank.value),
                  fmt::format("rank {} is {}: {}", event.rank.rank.value, state, event.rank.reason), event);
        }
    }

    /// Uses the typical duration of the last steps, so that a single long step does not exceed a limit. Each limit is
    /// reported once.
    void checkBudgets() {
        constexpr std::size_t kFewest = 3;
        constexpr std::size_t kMost = 24;
        if (!options_.budgets.any() || over_budget_ || analyzer_.counts().steps == budgeted_) return;
        budgeted_ = analyzer_.counts().steps;
        std::vector<const live::LiveStep*> last;
        for (auto step = analyzer_.steps().rbegin(); step != analyzer_.steps().rend() && last.size() < kMost; ++step) {
            if (step->complete) last.push_back(&*step);
        }
        std::ranges::reverse(last);
        std::vector<TimeNs> times;
        for (const live::LiveStep* const step : last)
            times.push_back(step->wall);
        if (times.size() < kFewest) return;
        const live::LiveStep& typical = *last[typicalOf(times, judgeSteps(times))];
        over_budget_ = options_.budgets.exceeded(typical.wall, typical.bubble_rate);
        failed_ = failed_ || over_budget_;
    }

    void alert(std::string_view event, const std::string& kind, std::string_view severity, const std::string& rank,
               const std::string& message, const LiveEvent& what) {
        if (options_.alert.empty()) return;
        live::Alert::Message raised;
        raised.identity = kind + "/" + rank;
        raised.environment = {{"BUBBLESCOPE_EVENT", std::string(event)},
                              {"BUBBLESCOPE_KIND", kind},
                              {"BUBBLESCOPE_SEVERITY", std::string(severity)},
                              {"BUBBLESCOPE_RANK", rank},
                              {"BUBBLESCOPE_STEP", std::to_string(what.step)},
                              {"BUBBLESCOPE_MESSAGE", message},
                              {"BUBBLESCOPE_HELD_BACK", std::to_string(alert_.heldBack())}};
        raised.document = lineOf(eventOf(what, analyzer_));
        if (!alert_.raise(raised, monitorNow()) && !alert_.problem().empty())
            printError("cannot start the alert command: " + alert_.problem());
    }

    /// Waits for running commands unless the user wants to stop.
    void finishAlerts(StopSignals& stop) {
        constexpr std::chrono::milliseconds kPatience{300};
        while (alert_.running() > 0 && !stop.came()) {
            pollfd signal{stop.descriptor(), POLLIN, 0};
            ::poll(&signal, 1, 50);
            alert_.tend(monitorNow());
        }
        alert_.stop(kPatience);
    }

    [[nodiscard]] int exitCodeOf() const {
        constexpr int kRunFailed = 4;
        const auto gone = [](const live::LiveRank& rank) { return rank.state == live::RankState::Gone; };
        if (std::ranges::any_of(analyzer_.ranks(), gone)) return kRunFailed;
        return failed_ ? 1 : 0;
    }

    const MonitorArguments& options_;
    TimeNs patience_;
    LiveAnalyzer analyzer_;
    live::SegmentFollower follower_;
    std::set<std::string> unreadable_; ///< reported problems of files
    std::optional<live::StreamReceiver> receiver_;
    live::CapturedRun captured_;
    std::optional<live::MetricsEndpoint> metrics_;
    std::unique_ptr<TelemetryOutput> exporter_;
    live::Alert alert_;
    Screen screen_;
    std::string reported_; ///< problems of the receiver that have been reported
    TimeNs shown_{0};
    std::int64_t bytes_ = -1;    ///< bytes received at the last check
    TimeNs grew_ = monitorNow(); ///< time when that number last changed
    bool reported_silent_ = false;
    bool lines_;
    bool failed_ = false;
    bool over_budget_ = false;
    std::int64_t budgeted_ = 0; ///< number of steps at the last check of the budgets
};

CommandResult monitor(MonitorArguments& options) {
    if (options.folders.empty() && options.streams.listen.empty())
        return usageError("nothing to watch", "specify the folders that the run records into, or --listen");
    if (!options.streams.forward.empty() && !options.streams.listen.empty())
        return usageError("--listen and --forward cannot be combined",
                          "send every host's folder to the monitor that shows the run");
    if (!options.streams.forward.empty() && options.otlp.wanted())
        return usageError("--otlp and --forward cannot be combined", "pass --otlp to the monitor that shows the run");
    live::LiveOptions live;
    live.own_clock = thisProcess().clock;
    for (const std::string& assignment : options.thresholds)
        BUBBLESCOPE_TRY(setThreshold(live.thresholds, assignment));
    live.assembly.patience = options.patience;
    BUBBLESCOPE_ASSIGN(live.model, options.use.trained());
    if (live.model && live.model->device.empty() && !live.model->peak)
        return usageError("MFU needs the device", "specify its name with --gpu or its peak with --tflops");
    if (live.model && !live.model->device.empty()) BUBBLESCOPE_TRY(deviceNamed(live.model->device));
    const std::vector<std::filesystem::path> folders(options.folders.begin(), options.folders.end());
    BUBBLESCOPE_TRY(live::checkFolders(folders));
    for (const std::filesystem::path& folder : folders) {
        std::error_code ignored;
        if (!std::filesystem::exists(folder, ignored))
            fmt::print(stderr, "Waiting for {}, which does not exist yet\n", folder.string());
    }
    live::allowManyFiles();
    std::optional<live::MetricsEndpoint> metrics;
    if (!options.metrics.empty()) {
        BUBBLESCOPE_ASSIGN(const net::Address address, net::parseAddress(options.metrics));
        BUBBLESCOPE_ASSIGN(metrics, live::MetricsEndpoint::open(address));
        fmt::print(stderr, "Metrics at http://{}/metrics\n", metrics->address().text());
    }
    std::unique_ptr<TelemetryOutput> exporter;
    BUBBLESCOPE_ASSIGN(std::optional<otlp::Collector> collector, options.otlp.collector());
    if (collector) exporter = std::make_unique<TelemetryOutput>(*std::move(collector));
    BUBBLESCOPE_ASSIGN(live::SegmentFollower follower, live::SegmentFollower::open(folders));
    if (!options.streams.forward.empty()) return options.streams.sendFolders(std::move(follower), options.patience);
    // Only the traces of recorded jobs contain their activity, so traces from the network are also written to a
    // folder.
    std::optional<TemporaryFolder> scratch;
    std::vector<std::filesystem::path> captured = folders;
    if (!options.streams.listen.empty()) {
        if (options.streams.keep.empty()) {
            BUBBLESCOPE_ASSIGN(scratch, live::makeScratchFolder());
        }
        captured.push_back(scratch ? scratch->path() : std::filesystem::path(options.streams.keep));
    }
    BUBBLESCOPE_ASSIGN(std::optional<live::StreamReceiver> receiver,
                       options.streams.receiver(captured.empty() ? "" : captured.back()));
    live::CapturedRun recorded(std::move(captured), live.assembly.patience);
    Monitor monitor(options, std::move(live), std::move(follower), std::move(receiver), std::move(metrics),
                    std::move(exporter), std::move(recorded));
    return monitor.run();
}

} // namespace

void addMonitorCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("monitor", "Watch a run while it writes its trace: steps, bubbles, anomalies");
    const auto options = std::make_shared<MonitorArguments>();
    command.examples({"monitor my-run", "monitor my-run --metrics 9095 --fail-on any"});
    command.addOption("FOLDERS", options->folders, "Folders that the run's ranks record into, now or later");
    command.addOption("--steps", options->steps, "Stop after N steps (default: when the run ends)")
        .typeName("N")
        .positive();
    command.addOption("--metrics", options->metrics, "Serve Prometheus metrics at HOST:PORT or PORT")
        .typeName("ADDRESS");
    options->otlp.add(command);
    const Option alert =
        command
            .addOption("--alert", options->alert,
                       "Run this command for each new anomaly, each mismatch in a check, and each late or lost rank")
            .typeName("COMMAND");
    command
        .addParsed("--alert-interval", options->alert_interval, parseTime,
                   "Minimum time between two alerts of the same kind (300s)")
        .typeName("TIME")
        .needs(alert);
    command
        .addParsed("--patience", options->patience, parseTime,
                   "Time to wait for late ranks after others have finished a step, and for missing folders or a "
                   "collector (10s)")
        .typeName("TIME");
    addFailOn(command, options->fail_on);
    command
        .addOption("--threshold", options->thresholds, "One threshold; 'bubblescope anomalies --thresholds' lists them")
        .typeName("NAME=VALUE")
        .repeatable();
    options->budgets.add(command);
    options->streams.add(command);
    addModelUseOptions(command, options->use);
    command.addFlag("--json", options->json, "Print JSON documents, one per line, even in a terminal");
    command.onParsed([&action, options] { action = [options] { return monitor(*options); }; });
}

} // namespace bubblescope::cli
