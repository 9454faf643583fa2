#include "app/cli/command.h"
#include "app/cli/output.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/shell_word.h"
#include "core/mcp/session.h"
#include "core/plan/search.h"
#include "core/query/database.h"
#include "core/report/json.h"
#include "core/report/results/analysis.h"
#include "core/report/results/comparison.h"
#include "core/report/results/devices.h"
#include "core/report/results/plan_document.h"
#include "core/report/results/whatif.h"
#include "core/report/text.h"
#include "core/request/plan_request.h"
#include "core/request/run_model_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::cli {

namespace {

/// The tools of `mcp`: open, answer, findings, whatif, diff, query, plan. Each result is short, includes evidence, and
/// ends with the command that reproduces it.
[[nodiscard]] std::vector<mcp::Tool> mcpTools();

using Json = nlohmann::json;
using mcp::Tool;
using mcp::ToolAnswer;

constexpr std::size_t kMostListed = 20; ///< maximum number of findings, problems and similar entries per result

/// Shortens long lists, and adds the number of omitted entries.
Json shortened(const Json& value) {
    if (value.is_array()) {
        Json list = Json::array();
        for (std::size_t i = 0; i < std::min(value.size(), kMostListed); ++i)
            list.push_back(shortened(value[i]));
        return list;
    }
    if (!value.is_object()) return value;
    Json object = Json::object();
    for (const auto& [key, member] : value.items()) {
        object[key] = shortened(member);
        if (member.is_array() && member.size() > kMostListed) object[key + "_left_out"] = member.size() - kMostListed;
    }
    return object;
}

Json dataOf(const report::Section& document) {
    return shortened(Json::parse(report::toJson(document), nullptr, false));
}

ToolAnswer answered(std::string text, Json data, const std::vector<std::string>& words) {
    const std::string command = shellLine(words);
    if (!text.ends_with('\n')) text += '\n';
    data["command"] = command;
    return {text + "Repeat: " + command + "\n", std::move(data)};
}

/// A trace that was read and diagnosed.
struct OpenTrace {
    std::optional<DiagnosedRun> diagnosed;
    std::optional<LoadedTrace> activity; ///< set for a trace without a pipeline
    std::shared_ptr<const GpuWork> gpu;
};

/// Open traces of a session. They remain open because reading and diagnosing take most of the time, and clients usually
/// send several requests for one trace.
class Shelf {
public:
    /// Reads the trace even if it is already open, because it may have grown.
    Result<std::shared_ptr<const OpenTrace>> open(const std::string& path) {
        JobControl control;
        BUBBLESCOPE_ASSIGN(LoadedTrace loaded, loadTrace({std::filesystem::path(path)}, control));
        auto opened = std::make_shared<OpenTrace>();
        opened->gpu = loaded.gpu;
        if (loaded.no_pipeline) {
            opened->activity = std::move(loaded);
        } else {
            BUBBLESCOPE_ASSIGN(opened->diagnosed, diagnoseRun(std::move(loaded.run), {}));
        }
        constexpr std::size_t kMostOpen = 4; // limited because a run uses as much memory as its trace
        if (traces_.size() >= kMostOpen) traces_.clear();
        traces_[path] = opened;
        return std::shared_ptr<const OpenTrace>(opened);
    }

    Result<std::shared_ptr<const OpenTrace>> get(const std::string& path) {
        if (const auto found = traces_.find(path); found != traces_.end()) return found->second;
        return open(path);
    }

    /// Returns an error if the trace has no pipeline.
    Result<std::shared_ptr<const OpenTrace>> pipeline(const std::string& path) {
        BUBBLESCOPE_ASSIGN(std::shared_ptr<const OpenTrace> opened, get(path));
        if (!opened->diagnosed) return *opened->activity->no_pipeline;
        return opened;
    }

private:
    std::map<std::string, std::shared_ptr<const OpenTrace>> traces_;
};

const Run& runOf(const OpenTrace& opened) {
    return opened.diagnosed ? opened.diagnosed->run : opened.activity->run;
}

std::string problemLines(const std::vector<Diagnostic>& problems) {
    std::string text;
    for (std::size_t i = 0; i < std::min(problems.size(), kMostListed); ++i)
        text += "problem: " + problemText(problems[i]) + "\n";
    if (problems.size() > kMostListed) text += fmt::format("{} more problems\n", problems.size() - kMostListed);
    return text;
}

Json problemList(const std::vector<Diagnostic>& problems) {
    Json list = Json::array();
    for (const Diagnostic& problem : problems)
        list.push_back(
            {{"where", problem.where.text()}, {"message", problem.message.text()}, {"count", problem.count}});
    return shortened(list);
}

Result<ToolAnswer> openTrace(Shelf& shelf, const Json& arguments) {
    const auto path = arguments["path"].get<std::string>();
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const OpenTrace> opened, shelf.open(path));
    const Run& run = runOf(*opened);
    Json data{{"pipeline", opened->diagnosed.has_value()}, {"problems", problemList(run.problems)}};
    std::string text;
    if (opened->diagnosed) {
        const RunReport& report = opened->diagnosed->report;
        const Schedule& order = run.schedule;
        data["schedule"] = order.name;
        data["flavor"] = order.flavor;
        data["pp"] = order.pp;
        data["microbatches"] = order.microbatches;
        data["vpp"] = order.vpp;
        data["steps"] = run.steps.size();
        data["step_time_ns"] = report.selection.stepTime().count();
        data["findings"] = report.anomalies.size();
        text = fmt::format("{}: {}, {} steps, a step takes {}, {} findings.\n", path, scheduleTitle(order),
                           run.steps.size(), formatTime(report.selection.stepTime()), report.anomalies.size());
    } else {
        text = fmt::format("{}: no pipeline: {}\n", path, opened->activity->no_pipeline->text());
    }
    return answered(text + problemLines(run.problems), std::move(data), {"analyze", path});
}

Result<ToolAnswer> giveAnswer(Shelf& shelf, const Json& arguments) {
    const auto path = arguments["path"].get<std::string>();
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const OpenTrace> opened, shelf.get(path));
    report::Document document;
    if (opened->diagnosed) {
        document = report::summaryDocument(opened->diagnosed->run, opened->diagnosed->report);
    } else {
        BUBBLESCOPE_ASSIGN(const std::vector<FileActivity> files, activityOf(*opened->activity));
        if (!report::showsActivity(files)) return *opened->activity->no_pipeline;
        document = report::activitySummary(*opened->activity, files);
    }
    return answered(report::toText(document), dataOf(document), {"analyze", path, "--summary"});
}

std::string findingText(const Anomaly& anomaly) {
    std::string where;
    const auto add = [&](const char* what, auto value) {
        where += fmt::format("{}{} {}", where.empty() ? "" : ", ", what, value);
    };
    if (anomaly.rank) add("rank", anomaly.rank->value);
    if (anomaly.peer) add("to rank", anomaly.peer->value);
    if (anomaly.replica) add("replica", *anomaly.replica);
    if (anomaly.step) add("step", *anomaly.step);
    std::string text = fmt::format("{} {}{}: {}\n", severityName(anomaly.severity), anomalyKindName(anomaly.kind),
                                   where.empty() ? "" : " (" + where + ")", anomaly.message.text());
    std::string evidence;
    for (const auto& [name, value] : anomaly.evidence)
        evidence += fmt::format("{}{} {:g}", evidence.empty() ? "" : ", ", name, value);
    if (!evidence.empty()) text += fmt::format("  evidence: {}\n", evidence);
    if (!anomaly.suggestion.empty()) text += fmt::format("  action: {}\n", anomaly.suggestion.text());
    return text;
}

Result<ToolAnswer> listFindings(Shelf& shelf, const Json& arguments) {
    const auto path = arguments["path"].get<std::string>();
    const std::string kind = arguments.value("kind", "");
    const auto most = arguments.value("most", std::int64_t{kMostListed});
    if (most < 1) return usageError("'most' is not a number above 0");
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const OpenTrace> opened, shelf.pipeline(path));
    std::string text;
    Json list = Json::array();
    std::size_t found = 0;
    for (const Anomaly& anomaly : opened->diagnosed->report.anomalies) {
        if (!kind.empty() && kind != anomalyKindName(anomaly.kind)) continue;
        if (++found > static_cast<std::size_t>(most)) continue;
        text += findingText(anomaly);
        list.push_back(Json::parse(report::toJson(report::Value(report::anomalyOf(anomaly))), nullptr, false));
    }
    if (found == 0) text = kind.empty() ? "No findings.\n" : fmt::format("No finding of kind {}.\n", kind);
    if (found > list.size()) text += fmt::format("{} more findings\n", found - list.size());
    const std::size_t shown = list.size();
    return answered(std::move(text), {{"findings", std::move(list)}, {"left_out", found - shown}},
                    {"analyze", path, "--all"});
}

Result<ToolAnswer> whatIf(Shelf& shelf, const Json& arguments) {
    const RunModelRequest request;
    const auto path = arguments["path"].get<std::string>();
    const auto changes = arguments.value("changes", std::vector<std::string>());
    BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(changes));
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const OpenTrace> opened, shelf.pipeline(path));
    const Run& run = opened->diagnosed->run;
    BUBBLESCOPE_ASSIGN(const RunModel model, request.model(run, opened->diagnosed->report.clocks));
    std::vector<std::string> words{"whatif", path};
    if (changes.empty()) {
        const report::Document study = report::studyDocument(model, studyStragglers(model));
        Json data = dataOf(study);
        data.erase("replay");
        return answered(report::toText(study), std::move(data), words);
    }
    BUBBLESCOPE_ASSIGN(const ModelCut cut, request.cut(run));
    BUBBLESCOPE_ASSIGN(const Prediction prediction, predict(model, run.schedule, scenario, cut));
    for (const std::string& change : changes)
        words.insert(words.end(), {"--if", change});
    return answered(report::toText(report::predictionDocument(changes, prediction)),
                    {{"step_time_ns", model.step_time.count()},
                     {"predicted_step_time_ns", prediction.predicted().count()},
                     {"change_ns", prediction.change().count()}},
                    words);
}

Result<ToolAnswer> compareTraces(Shelf& shelf, const Json& arguments) {
    const auto before = arguments["before"].get<std::string>();
    const auto after = arguments["after"].get<std::string>();
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const OpenTrace> a, shelf.pipeline(before));
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const OpenTrace> b, shelf.pipeline(after));
    const Run& run_a = a->diagnosed->run;
    const Run& run_b = b->diagnosed->run;
    const RunComparison comparison = compareRuns(run_a, run_b, {});
    Json data = dataOf(report::comparisonDocument(run_a, run_b, comparison, report::Reader::Programs));
    return answered(report::toText(report::comparisonDocument(run_a, run_b, comparison, report::Reader::Text)),
                    std::move(data), {"diff", before, after});
}

Result<ToolAnswer> askInSql(Shelf& shelf, const Json& arguments) {
    const auto path = arguments["path"].get<std::string>();
    const auto sql = arguments["sql"].get<std::string>();
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<const OpenTrace> opened, shelf.get(path));
    const RunReport* const report = opened->diagnosed ? &opened->diagnosed->report : nullptr;
    query::Database database({runOf(*opened), report, opened->gpu});
    constexpr query::QueryLimits kLimits{std::chrono::seconds(30), std::size_t{1} << 26};
    const JobControl control;
    BUBBLESCOPE_ASSIGN(const report::DataTable rows, database.run(sql, control, kLimits));
    std::string text;
    std::size_t lines = 0;
    report::writeCsv(rows, [&](std::string_view line) {
        if (lines++ <= kMostListed) text += line; // after the names of the columns
    });
    const std::size_t left_out = rows.rows() - std::min(rows.rows(), kMostListed);
    if (left_out > 0) text += fmt::format("{} more rows\n", left_out);
    Json names = Json::array();
    for (const report::DataColumn& column : rows.columns())
        names.push_back(column.name());
    return answered(text, {{"columns", std::move(names)}, {"rows", rows.rows()}, {"csv", text}, {"left_out", left_out}},
                    {"query", path, sql, "--csv"});
}

Result<ToolAnswer> planFor(Shelf& /*shelf*/, const Json& arguments) {
    PlanRequest request;
    request.model.preset = arguments["model"].get<std::string>();
    request.cluster.device = arguments["gpu"].get<std::string>();
    const auto gpus = arguments["gpus"].get<std::int64_t>();
    const auto batch = arguments["global_batch"].get<std::int64_t>();
    constexpr std::int64_t kMost = 1 << 24;
    if (gpus < 1 || gpus > kMost || batch < 1 || batch > kMost)
        return usageError("'gpus' and 'global_batch' must be numbers above 0");
    request.cluster.devices = static_cast<int>(gpus);
    request.global_batch = static_cast<int>(batch);
    BUBBLESCOPE_ASSIGN(plan::Problem problem, request.problem());
    BUBBLESCOPE_ASSIGN(plan::Space space, request.choices());
    space.plans = 5;
    const plan::Judge judge(std::move(problem));
    BUBBLESCOPE_ASSIGN(const plan::SearchResult found, plan::search(judge, space, {}));
    const report::Document document = report::planDocument(judge.problem(), found);
    return answered(report::toText(document), dataOf(document),
                    {"plan", "--preset", request.model.preset, "--gpus", fmt::format("{}", gpus), "--gpu",
                     request.cluster.device, "--global-batch", fmt::format("{}", batch), "--plans", "5"});
}

Json textArgument(const char* about) {
    return {{"type", "string"}, {"description", about}};
}

Json objectOf(Json properties, std::vector<std::string> required) {
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

constexpr const char* kPathAbout = "A trace file, or a folder with the files of all ranks";

std::vector<Tool> mcpTools() {
    const auto shelf = std::make_shared<Shelf>();
    const auto on = [&shelf](Result<ToolAnswer> (*tool)(Shelf&, const Json&)) {
        return [shelf, tool](const Json& arguments) { return tool(*shelf, arguments); };
    };
    return {
        {"open", "Open a trace",
         "Read a trace. Returns its schedule, sizes, step time, number of findings, and problems in its files. A trace "
         "that is already open is read again.",
         objectOf({{"path", textArgument(kPathAbout)}}, {"path"}), on(openTrace)},
        {"answer", "Verdict on a run",
         "Assess a run: whether its data and computation can be trusted, what costs the most time, and what to do.",
         objectOf({{"path", textArgument(kPathAbout)}}, {"path"}), on(giveAnswer)},
        {"findings", "All findings",
         "List all findings with kind, severity, rank, step, evidence and action; the most expensive first.",
         objectOf({{"path", textArgument(kPathAbout)},
                   {"kind", textArgument("Only findings of this kind, such as straggler or slow-link")},
                   {"most", {{"type", "integer"}, {"description", "Maximum number of findings (20)"}}}},
                  {"path"}),
         on(listFindings)},
        {"whatif", "Predict a change",
         "Predict the step time with changes, such as rank:3=usual, link:2-3=2x, comm=0, stage:7=-20%, schedule=zb-v, "
         "microbatches=16. If no changes are given, returns the cost of stragglers.",
         objectOf({{"path", textArgument(kPathAbout)},
                   {"changes",
                    {{"type", "array"},
                     {"items", {{"type", "string"}}},
                     {"description", "TARGET=VALUE; several apply together"}}}},
                  {"path"}),
         on(whatIf)},
        {"diff", "Compare two runs",
         "Compare two runs: what changed, by how much, and whether the change is significant.",
         objectOf({{"before", textArgument("The run before")}, {"after", textArgument("The run after")}},
                  {"before", "after"}),
         on(compareTraces)},
        {"query", "Ask in SQL",
         "Rows of one SELECT over slices, ops, transfers, bubbles, findings, steps and devices. `SELECT * FROM "
         "finding` shows a table's columns.",
         objectOf({{"path", textArgument(kPathAbout)}, {"sql", textArgument("One SELECT of SQLite")}}, {"path", "sql"}),
         on(askInSql)},
        {"plan", "Plan a training run",
         "Find the best tensor, context, data and pipeline parallelism, chunks, micro-batch and schedule for a model "
         "on a cluster, with step time, MFU and memory.",
         objectOf({{"model", textArgument("A known model, such as llama3-8b")},
                   {"gpu", textArgument("A known device, such as h100")},
                   {"gpus", {{"type", "integer"}, {"description", "Number of devices"}}},
                   {"global_batch", {{"type", "integer"}, {"description", "Sequences per step"}}}},
                  {"model", "gpu", "gpus", "global_batch"}),
         on(planFor)},
    };
}

constexpr std::size_t kLongestLine = std::size_t{16} << 20;

/// Reads the next line without its line break. Lines that are too long are truncated, which results in an error reply.
/// Returns false at the end of input.
bool readLine(std::string& line) {
    line.clear();
    std::array<char, 1 << 16> part{};
    while (std::fgets(part.data(), static_cast<int>(part.size()), stdin) != nullptr) {
        const std::string_view read(part.data());
        if (line.size() < kLongestLine) line += read;
        if (read.ends_with('\n')) break;
    }
    const bool got = !line.empty();
    while (line.ends_with('\n') || line.ends_with('\r'))
        line.pop_back();
    return got;
}

CommandResult serve() {
    mcp::Session session(BUBBLESCOPE_VERSION,
                         "Bubblescope diagnoses pipeline-parallel training from traces. Call 'open' with the path of a "
                         "trace, then 'answer' for the verdict and 'findings' for the evidence; 'whatif' predicts the "
                         "gain of a change. Every answer ends with the command that reproduces it.",
                         mcpTools());
    for (std::string line; readLine(line);) {
        if (line.find_first_not_of(" \t") == std::string::npos) continue;
        if (const auto answer = session.answer(line)) {
            fmt::print("{}\n", *answer);
            std::fflush(stdout);
        }
    }
    return 0;
}

} // namespace

void addMcpCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("mcp", "Serve AI agents over the Model Context Protocol on standard input and output");
    command.examples({"mcp"});
    command.onParsed([&action] { action = serve; });
}

} // namespace bubblescope::cli
