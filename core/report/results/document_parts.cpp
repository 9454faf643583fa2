#include "core/report/results/document_parts.h"

#include <fmt/format.h>

namespace bubblescope::report {

Value filesOf(const std::vector<std::filesystem::path>& files) {
    Value::List list;
    for (const auto& file : files)
        list.emplace_back(file.string());
    return list;
}

std::string filesText(const std::vector<std::filesystem::path>& files) {
    return files.size() == 1 ? files.front().string()
                             : fmt::format("{} ({} files)", files.front().parent_path().string(), files.size());
}

Table problemsTable(const std::vector<Diagnostic>& problems, Reader reader) {
    Table table("problems", {data("kind"), column("count", say("Times")), data("where"),
                             column("message", say("Problem"), Align::Left), shown(say("First seen"), Align::Left),
                             shown(say("Kind"), Align::Left)});
    table.reader = reader;
    for (const Diagnostic& problem : problems)
        table.row(problem.kind, problem.count, problem.where, problem.message, problem.where, problem.kind);
    return table;
}

namespace {

/// `order` is a Schedule, or the RunInfo of a recorded one.
template <class Order>
void addNamedOrder(Section& object, const std::string& name, const Order& order) {
    object.data("schedule", name);
    object.data("flavor", order.flavor);
    object.data("pp", order.pp);
    object.data("microbatches", order.microbatches);
    object.data("vpp", order.vpp);
}

} // namespace

void addOrder(Section& object, const Schedule& order) {
    addNamedOrder(object, order.name, order);
}

void addOrder(Section& object, const RunInfo& recorded) {
    addNamedOrder(object, recorded.schedule, recorded);
}

Value::Object selectionOf(const StepSelection& selection) {
    Value::List taken;
    Value::List aside;
    for (const SelectedStep& step : selection.steps()) {
        if (step.taken())
            taken.emplace_back(step.index);
        else
            aside.emplace_back(
                Value::Object{{"step", step.index}, {"why", setAsideName(step.why)}, {"wall_ns", step.time}});
    }
    return {{"steps", selection.steps().size()},
            {"replicas", selection.replicas()},
            {"taken", std::move(taken)},
            {"set_aside", std::move(aside)},
            {"typical_step", selection.typical().index}};
}

void addSelection(Section& object, const StepSelection& selection) {
    object.data("step_time_ns", selection.stepTime());
    object.data("selection", selectionOf(selection));
}

Value::Object placeOf(const MeshNumbers& place) {
    Value::Object object;
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis)
        object.push_back({std::string(kMeshAxisNames[axis]), place.of[axis]});
    return object;
}

std::string placeText(const MeshNumbers& place) {
    std::string text;
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis)
        text += fmt::format("{}{} {}", axis == 0 ? "" : ", ", kMeshAxisNames[axis], place.of[axis]);
    return text;
}

} // namespace bubblescope::report
