#include "bindings/python/run.h"

#include "bindings/python/interruptible_call.h"
#include "bindings/python/keywords.h"
#include "bindings/python/order.h"
#include "bindings/python/table.h"
#include "core/analysis/comparison/compare_runs.h"
#include "core/analysis/devices/device_summary.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/cost/memory_estimate.h"
#include "core/optimize/advice/advise.h"
#include "core/query/database.h"
#include "core/report/html.h"
#include "core/report/json.h"
#include "core/report/results/advice.h"
#include "core/report/results/analysis.h"
#include "core/report/results/comparison.h"
#include "core/report/results/devices.h"
#include "core/report/results/drawing.h"
#include "core/report/results/slices.h"
#include "core/report/results/whatif.h"
#include "core/report/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

namespace bubblescope::python {
namespace {

namespace py = pybind11;

/// The result of a load.
struct Loaded {
    std::optional<DiagnosedRun> diagnosed;
    std::unique_ptr<LoadedTrace> trace;
    std::vector<FileActivity> activity;
};

Result<Loaded> loadAndDiagnose(const RunModelRequest& request, const DiagnosisOptions& options,
                               const MemoryRequest& memory, JobControl& control) {
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, request.recognise.options());
    BUBBLESCOPE_ASSIGN(LoadedTrace loaded, loadTrace({request.files.begin(), request.files.end()}, control, known_of));
    Loaded out;
    if (loaded.no_pipeline) {
        if (!request.steps.empty()) return *loaded.no_pipeline;
        BUBBLESCOPE_ASSIGN(out.activity, activityOf(loaded));
        if (!report::showsActivity(out.activity)) return *loaded.no_pipeline;
        out.trace = std::make_unique<LoadedTrace>(std::move(loaded));
        return out;
    }
    DiagnosisOptions diagnosis = options;
    diagnosis.request = request.steps;
    BUBBLESCOPE_ASSIGN(const auto used, memory.report(loaded.run.schedule));
    if (used) {
        for (const RankMemory& rank : used->ranks)
            diagnosis.memory_estimate.push_back(rank.peak());
    }
    BUBBLESCOPE_ASSIGN(out.diagnosed, diagnoseRun(std::move(loaded.run), diagnosis, &control));
    return out;
}

ClockUse clockUse(const std::string& name) {
    if (name == "auto") return ClockUse::Auto;
    if (name == "align") return ClockUse::Align;
    if (name == "off") return ClockUse::Off;
    throw py::value_error("clocks: give \"auto\", \"align\" or \"off\"");
}

void takeModel(Keywords& from, RunModelRequest& into) {
    std::vector<std::string> layers; // numbers, or a single text
    from.texts("layers", layers);
    into.layers = fmt::format("{}", fmt::join(layers, ","));
    from.take("input_share", into.input_share);
    from.take("max_error", into.max_error);
}

py::tuple compare(const RunHandle& a, const RunHandle& b, const py::dict& options) {
    Keywords from(options);
    CompareLimits limits;
    from.take("alpha", limits.alpha);
    from.take("least", limits.least_share);
    from.end();
    const Run& before = a.diagnosed().run;
    const Run& after = b.diagnosed().run;
    std::string json;
    std::string text;
    {
        const py::gil_scoped_release release;
        const RunComparison result = compareRuns(before, after, limits);
        json = report::toJson(report::comparisonDocument(before, after, result, report::Reader::Programs));
        text = report::toText(report::comparisonDocument(before, after, result, report::Reader::Text));
    }
    return py::make_tuple(json, text);
}

} // namespace

py::tuple answerOf(const report::Section& document) {
    std::string json;
    std::string text;
    {
        const py::gil_scoped_release release;
        json = report::toJson(document);
        text = report::toText(document);
    }
    return py::make_tuple(json, text);
}

RunHandle::RunHandle(const std::vector<std::string>& files, const py::dict& options, const py::object& progress) {
    Keywords from(options);
    DiagnosisOptions diagnosis;
    MemoryRequest memory;
    std::string clocks = "auto";
    std::string threshold_file;
    request_.files = files;
    takeRecognition(from, request_.recognise);
    takeSteps(from, request_.steps);
    takeMemory(from, memory);
    from.take("clocks", clocks);
    diagnosis.clocks = clockUse(clocks);
    if (const py::object thresholds = from.taken("thresholds"); py::isinstance<py::dict>(thresholds)) {
        for (const auto& [name, value] : thresholds.cast<py::dict>())
            check(setThreshold(diagnosis.thresholds, fmt::format("{}={}", py::str(name).cast<std::string>(),
                                                                 py::str(value).cast<std::string>())));
    } else if (!thresholds.is_none()) {
        check(readThresholds(diagnosis.thresholds, py::str(thresholds).cast<std::string>()));
    }
    from.end();
    Loaded loaded = valueOf(callInterruptibly(
        progress, [&](JobControl& control) { return loadAndDiagnose(request_, diagnosis, memory, control); }));
    diagnosed_ = std::move(loaded.diagnosed);
    loaded_ = std::move(loaded.trace);
    activity_ = std::move(loaded.activity);
}

const DiagnosedRun& RunHandle::diagnosed() const {
    if (!diagnosed_) raise(*loaded_->no_pipeline);
    return *diagnosed_;
}

report::Document RunHandle::document(report::Reader reader) const {
    if (!diagnosed_) return report::activityDocument(*loaded_, activity_, BUBBLESCOPE_VERSION);
    report::AnalysisOptions content;
    content.reader = reader;
    content.version = BUBBLESCOPE_VERSION;
    return report::analysisDocument(diagnosed_->run, diagnosed_->report, content);
}

std::string RunHandle::json() const {
    return report::toJson(document(report::Reader::Programs));
}
std::string RunHandle::text() const {
    return report::toText(document(report::Reader::Text));
}
std::string RunHandle::html() const {
    return report::toHtml(document(report::Reader::Page));
}

py::tuple RunHandle::summary() const {
    return answerOf(diagnosed_ ? report::summaryDocument(diagnosed_->run, diagnosed_->report)
                               : report::activitySummary(*loaded_, activity_));
}

report::DataTable RunHandle::table(const std::string& name) const {
    const auto tables =
        diagnosed_ ? report::analysisTables(diagnosed_->run, diagnosed_->report) : report::activityTables(activity_);
    const auto found = std::ranges::find(tables, name, &report::AnalysisTable::name);
    if (found != tables.end()) {
        const py::gil_scoped_release release;
        return found->make();
    }
    if (!diagnosed_) raise(*loaded_->no_pipeline);
    throw py::key_error(name);
}

report::DataTable RunHandle::slices(const std::optional<std::string>& category) const {
    if (!run().trace) raise(inputError(fmt::format("{}", fmt::join(request_.files, ", ")), "has no raw slices"));
    Result<report::DataTable> made = [&] {
        const py::gil_scoped_release release;
        return report::slicesTable(*run().trace, category);
    }();
    return valueOf(std::move(made));
}

report::DataTable RunHandle::query(const std::string& sql) const {
    const query::Subject subject{run(), diagnosed_ ? &diagnosed_->report : nullptr, loaded_ ? loaded_->gpu : nullptr};
    return valueOf(callInterruptibly(py::none(), [&](JobControl& control) -> Result<report::DataTable> {
        query::Database database(subject);
        return database.run(sql, control);
    }));
}

std::size_t RunHandle::timeline(std::optional<int> step, int replica) const {
    const DiagnosedRun& of = diagnosed();
    if (!step) return of.report.typicalStep();
    const auto& steps = of.run.steps;
    const auto found = std::ranges::find_if(
        steps, [&](const StepTimeline& each) { return each.index == *step && each.replica == replica; });
    if (found == steps.end())
        raise(usageError(fmt::format("step {} of replica {} does not exist", *step, replica),
                         fmt::format("available steps: {} to {}", steps.front().index, steps.back().index)));
    return static_cast<std::size_t>(found - steps.begin());
}

std::string RunHandle::svg(std::size_t timeline) const {
    const DiagnosedRun& of = diagnosed();
    CostModel typical;
    typical.times = of.report.steps[timeline].typical;
    const report::Drawn drawn{of.run.schedule, of.run.steps[timeline], typical};
    Result<std::string> text = [&] {
        const py::gil_scoped_release release;
        return report::drawSteps({&drawn, 1});
    }();
    return valueOf(std::move(text));
}

py::tuple RunHandle::whatIf(const std::vector<std::string>& changes, const py::dict& options) const {
    Keywords from(options);
    RunModelRequest request = request_;
    takeModel(from, request);
    from.end();
    const DiagnosedRun& of = diagnosed();
    const Result<std::pair<std::string, std::string>> answer =
        callInterruptibly(py::none(), [&](JobControl& control) -> Result<std::pair<std::string, std::string>> {
            BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(changes));
            BUBBLESCOPE_ASSIGN(const RunModel model, request.model(of.run, of.report.clocks));
            if (control.stopRequested()) return cancelledError();
            BUBBLESCOPE_TRY(checkError(model, request.mostError()));
            if (changes.empty()) {
                const report::Document study = report::studyDocument(model, studyStragglers(model, control));
                return std::pair{report::toJson(study), report::toText(study)};
            }
            BUBBLESCOPE_ASSIGN(const ModelCut cut, request.cut(of.run));
            BUBBLESCOPE_ASSIGN(const Prediction prediction, predict(model, of.run.schedule, scenario, cut));
            return std::pair{report::toJson(report::scenarioDocument(model, changes, prediction)),
                             report::toText(report::predictionDocument(changes, prediction))};
        });
    const auto& [json, text] = valueOf(answer);
    return py::make_tuple(json, text);
}

py::tuple RunHandle::advise(const py::dict& options) const {
    Keywords from(options);
    RunModelRequest request = request_;
    MemoryRequest memory;
    takeModel(from, request);
    takeMemory(from, memory);
    TimeNs search_time = std::chrono::seconds(10);
    from.time("search_time", search_time);
    from.end();
    const DiagnosedRun& of = diagnosed();
    const Result<std::pair<std::string, std::string>> answer =
        callInterruptibly(py::none(), [&](JobControl& control) -> Result<std::pair<std::string, std::string>> {
            AdviceOptions wanted;
            if (!memory.model.empty()) {
                BUBBLESCOPE_ASSIGN(wanted.sizes, readModelSizes(memory.model));
            }
            wanted.budget = memory.budget;
            if (wanted.budget && !wanted.sizes)
                return usageError("a memory budget needs the model's sizes", "also specify the memory model");
            if (search_time > TimeNs{0}) wanted.search_time = search_time;
            BUBBLESCOPE_ASSIGN(const RunModel model, request.model(of.run, of.report.clocks));
            BUBBLESCOPE_ASSIGN(const ModelCut cut, request.cut(of.run));
            if (control.stopRequested()) return cancelledError();
            BUBBLESCOPE_ASSIGN(const Advice advice,
                               bubblescope::advise(model, of.run.schedule, cut, wanted, request.mostError(), control));
            const report::Document document = report::adviceDocument(model, advice, request.words());
            return std::pair{report::toJson(document), report::toText(document)};
        });
    const auto& [json, text] = valueOf(answer);
    return py::make_tuple(json, text);
}

void addRunClass(py::module_& module) {
    py::class_<RunHandle>(module, "RunHandle", "A loaded run, or a trace without a pipeline.")
        .def(py::init<const std::vector<std::string>&, const py::dict&, const py::object&>(), py::arg("files"),
             py::arg("options"), py::arg("progress"))
        .def("json", &RunHandle::json)
        .def("text", &RunHandle::text)
        .def("html", &RunHandle::html)
        .def("summary", &RunHandle::summary)
        .def(
            "table", [](const RunHandle& run, const std::string& name) { return viewOf(run.table(name)); },
            py::arg("name"))
        .def(
            "slices",
            [](const RunHandle& run, const std::optional<std::string>& category) {
                return viewOf(run.slices(category));
            },
            py::arg("category"))
        .def(
            "query", [](const RunHandle& run, const std::string& sql) { return viewOf(run.query(sql)); },
            py::arg("sql"))
        .def("order",
             [](const RunHandle& run) {
                 CostModel typical;
                 const DiagnosedRun& of = run.diagnosed();
                 typical.times = of.report.steps[of.report.typicalStep()].typical;
                 return Order{of.run.schedule, typical};
             })
        .def("timeline", &RunHandle::timeline, py::arg("step"), py::arg("replica"))
        .def(
            "step",
            [](const RunHandle& run, std::size_t timeline) {
                const DiagnosedRun& of = run.diagnosed();
                const StepTimeline& step = of.run.steps.at(timeline);
                return py::make_tuple(step.index, step.replica, viewOf(report::stepOps(step)),
                                      viewOf(report::stepBubbles(step, of.report.steps.at(timeline))));
            },
            py::arg("timeline"))
        .def(
            "op_count",
            [](const RunHandle& run, std::size_t timeline) {
                std::size_t count = 0;
                for (const auto& ops : run.diagnosed().run.steps.at(timeline).ranks)
                    count += ops.size();
                return count;
            },
            py::arg("timeline"))
        .def("svg", &RunHandle::svg, py::arg("timeline"))
        .def("whatif", &RunHandle::whatIf, py::arg("changes"), py::arg("options"))
        .def("advise", &RunHandle::advise, py::arg("options"))
        .def_property_readonly("has_pipeline", [](const RunHandle& run) { return run.run().steps.size() > 0; });
    module.def("diff", &compare, py::arg("a"), py::arg("b"), py::arg("options"));
}

} // namespace bubblescope::python
