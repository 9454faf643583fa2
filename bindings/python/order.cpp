#include "bindings/python/order.h"

#include "bindings/python/interruptible_call.h"
#include "bindings/python/keywords.h"
#include "bindings/python/run.h"
#include "bindings/python/table.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/search/search.h"
#include "core/recognise/match_schedule.h"
#include "core/report/results/drawing.h"
#include "core/report/results/formula.h"
#include "core/report/results/search_document.h"
#include "core/report/results/simulation.h"
#include "core/report/results/tables.h"
#include "core/report/results/validation.h"
#include "core/schedule/schedule_files.h"
#include "core/timeline/text_chart.h"

#include <pybind11/stl.h>

#include <chrono>

namespace bubblescope::python {
namespace {

namespace py = pybind11;

constexpr TimeNs kUsualForward{1'000'000};

/// A simulated step with its order and op times.
struct SimulatedStep {
    report::Simulated run;
    CostModel costs;
};

template <class Work>
auto released(const Work& work) {
    const py::gil_scoped_release release;
    return work();
}

Planned planOf(Keywords& from) {
    ScheduleRequest request;
    takeSchedule(from, request);
    takeTimes(from, request);
    takeTransfers(from, request.transfers);
    from.path("op_times", request.op_times);
    from.take("slices", request.slice_cut);
    from.take("attention", request.attention);
    from.end();
    return valueOf(released([&] { return request.plan(kUsualForward); }));
}

Order makeOrder(const py::dict& options) {
    Keywords from(options);
    Planned planned = planOf(from);
    return {std::move(planned.schedule), std::move(planned.costs)};
}

std::string drawOne(const Schedule& schedule, const StepTimeline& step, const CostModel& costs) {
    const report::Drawn drawn{schedule, step, costs};
    return valueOf(released([&] { return report::drawSteps({&drawn, 1}); }));
}

std::string drawOrder(const Order& order) {
    const StepTimeline step = valueOf(released([&] { return simulate(order.schedule, order.costs); }));
    return drawOne(order.schedule, step, order.costs);
}

std::string chartOf(const Order& order) {
    const StepTimeline step = valueOf(released([&] { return simulate(order.schedule, order.costs); }));
    const std::string chart = textChart(step);
    return scheduleTitle(order.schedule) + "\n" + (chart.empty() ? orderText(order.schedule) : chart);
}

SimulatedStep simulateOrder(const py::dict& options) {
    Keywords from(options);
    MemoryRequest memory;
    takeMemory(from, memory);
    Planned planned = planOf(from);
    return {valueOf(released([&] { return report::simulated(std::move(planned.schedule), planned.costs, memory); })),
            planned.costs};
}

void writeStep(const SimulatedStep& step, const std::string& file) {
    check(released([&] {
        return perfetto::writeTimeline(file, RunInfo::of("simulate", step.run.schedule), {&step.run.step, 1});
    }));
}

/// As JSON and text.
py::tuple formulaOrder(const py::dict& options) {
    Keywords from(options);
    Planned planned = planOf(from);
    const report::Formula formula =
        valueOf(released([&] { return report::formulaOf(std::move(planned.schedule), std::move(planned.costs)); }));
    return answerOf(report::formulaDocument(formula, true));
}

py::tuple validateOrder(const py::object& order, const py::dict& options) {
    Keywords from(options);
    ValidateOptions rules;
    MemoryRequest memory;
    from.take("memory_limit", rules.memory_limit);
    from.parsed("sends", rules.sends, parseSendMode);
    takeMemory(from, memory);
    from.end();
    const Schedule schedule = py::isinstance<Order>(order) ? order.cast<const Order&>().schedule
                                                           : valueOf(readScheduleFile(order.cast<std::string>()));
    rules.memory = valueOf(memory.use(schedule));
    rules.memory_budget = memory.budget;
    LoweredValidation found;
    found.problems = released([&] { return validate(schedule, rules); });
    return answerOf(report::validationDocument(LoweredSchedule{schedule, {}}, found));
}

py::tuple searchForOrder(const py::dict& options, const RunHandle* recorded_run, const py::object& progress) {
    Keywords from(options);
    OrderRequest order;
    takeSearch(from, order);
    from.end();
    if (recorded_run != nullptr) order.from = "run"; // the run provides the sizes
    SearchRequest request = valueOf(order.request());
    std::optional<RecordedOrder> recorded;
    if (recorded_run != nullptr) {
        const DiagnosedRun& run = recorded_run->diagnosed();
        recorded = valueOf(released([&] { return takeRecorded(run.run, run.report.clocks, request); }));
    }
    const auto begin = std::chrono::steady_clock::now();
    FoundOrder found = valueOf(callInterruptibly(progress, [&](JobControl& control) {
        return searchOrder(request, control, [&control](const SearchProgress& now) {
            control.done = static_cast<std::uint64_t>(now.rounds);
            return !control.stopRequested();
        });
    }));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    found.schedule = matchSchedule(found.schedule).schedule; // the order may be that of a family
    const py::tuple answer = answerOf(report::foundOrderDocument(found, recorded, took.count()));
    return py::make_tuple(answer[0], answer[1], Order{found.schedule, request.costs});
}

} // namespace

void addOrderFunctions(py::module_& module) {
    py::class_<Order>(module, "Order",
                      "A schedule's order of ops on every rank, and the op times that it was created with.")
        .def("json", [](const Order& order) { return scheduleToJson(order.schedule); })
        .def("csv", [](const Order& order) { return valueOf(scheduleToCsv(order.schedule)); })
        .def("chart", &chartOf)
        .def("svg", &drawOrder)
        .def_property_readonly("op_count", [](const Order& order) { return order.schedule.opCount(); });
    py::class_<SimulatedStep>(module, "SimulatedStep", "A simulated step.")
        .def("answer", [](const SimulatedStep& step) { return answerOf(report::simulationDocument(step.run, false)); })
        .def("order",
             [](const SimulatedStep& step) {
                 return Order{step.run.schedule, step.costs};
             })
        .def("ops", [](const SimulatedStep& step) { return viewOf(report::stepOps(step.run.step)); })
        .def("bubbles",
             [](const SimulatedStep& step) { return viewOf(report::stepBubbles(step.run.step, step.run.analysis)); })
        .def("svg", [](const SimulatedStep& step) { return drawOne(step.run.schedule, step.run.step, step.costs); })
        .def("write", &writeStep, py::arg("file"))
        .def_property_readonly("op_count", [](const SimulatedStep& step) { return step.run.schedule.opCount(); });
    module.def("order", &makeOrder, py::arg("options"));
    module.def(
        "order_from_json",
        [](const std::string& text, const std::string& where) {
            return Order{valueOf(scheduleFromJson(text, where)), {}};
        },
        py::arg("text"), py::arg("where"));
    module.def("simulate", &simulateOrder, py::arg("options"));
    module.def("formula", &formulaOrder, py::arg("options"));
    module.def("validate", &validateOrder, py::arg("order"), py::arg("options"));
    module.def("search", &searchForOrder, py::arg("options"), py::arg("recorded"), py::arg("progress"));
}

} // namespace bubblescope::python
