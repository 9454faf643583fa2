#include "bindings/python/keywords.h"

#include "bindings/python/order.h"

#include <fmt/format.h>

#include <cmath>

namespace bubblescope::python {
namespace {

namespace py = pybind11;

std::string pathText(const py::object& value) {
    return py::module_::import("os").attr("fspath")(value).cast<std::string>();
}

std::string timeText(const char* name, const py::object& value) {
    if (py::isinstance<py::str>(value)) return value.cast<std::string>();
    if (PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0)
        return fmt::format("{}ns", value.cast<std::int64_t>());
    if (py::hasattr(value, "total_seconds")) {
        const double seconds = value.attr("total_seconds")().cast<double>();
        return fmt::format("{}ns", static_cast<std::int64_t>(std::llround(seconds * 1e9)));
    }
    throw py::type_error(fmt::format("{}: a time is integer nanoseconds, a datetime.timedelta, or a text with a unit, "
                                     "such as \"1.5ms\"",
                                     name));
}

std::string sizeText(const char* name, const py::object& value) {
    if (py::isinstance<py::str>(value)) return value.cast<std::string>();
    if (PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0)
        return fmt::format("{}B", value.cast<std::int64_t>());
    throw py::type_error(fmt::format("{}: a size is integer bytes, or a text with a unit, such as \"80GiB\"", name));
}

} // namespace

Keywords::Keywords(const py::dict& given) : rest_(given.attr("copy")()) {}

py::object Keywords::taken(const char* name) {
    return rest_.attr("pop")(name, py::none());
}

std::vector<py::object> Keywords::list(const char* name) {
    const py::object value = taken(name);
    if (value.is_none()) return {};
    if (py::isinstance<py::str>(value) || !py::isinstance<py::iterable>(value)) return {value};
    std::vector<py::object> all;
    for (const py::handle& each : value)
        all.push_back(py::reinterpret_borrow<py::object>(each));
    return all;
}

void Keywords::path(const char* name, std::string& into) {
    if (const py::object value = taken(name); !value.is_none()) into = pathText(value);
}

void Keywords::time(const char* name, std::optional<std::string>& into) {
    if (const py::object value = taken(name); !value.is_none()) into = timeText(name, value);
}

void Keywords::size(const char* name, std::optional<std::string>& into) {
    if (const py::object value = taken(name); !value.is_none()) into = sizeText(name, value);
}

void Keywords::texts(const char* name, std::vector<std::string>& into) {
    for (const py::object& value : list(name))
        into.push_back(py::hasattr(value, "__fspath__") ? pathText(value) : py::str(value).cast<std::string>());
}

void Keywords::sizes(const char* name, std::vector<std::string>& into) {
    for (const py::object& value : list(name))
        into.push_back(sizeText(name, value));
}

void Keywords::end() const {
    if (rest_.empty()) return;
    throw py::type_error("unknown keyword: " + py::str(py::list(rest_.attr("keys")())).cast<std::string>());
}

void takeSizes(Keywords& from, ScheduleRequest& into) {
    from.take("pp", into.pp);
    from.take("microbatches", into.microbatches);
    from.take("vpp", into.vpp);
}

void takeSchedule(Keywords& from, ScheduleRequest& into) {
    if (const py::object schedule = from.taken("schedule"); py::isinstance<Order>(schedule))
        into.order = schedule.cast<Order>().schedule;
    else if (!schedule.is_none())
        into.name = schedule.cast<std::string>();
    from.path("schedule_file", into.file);
    takeSizes(from, into);
    from.take("flavor", into.flavor);
    from.take("group_size", into.group_size);
    from.take("memory_limit", into.memory_limit);
    from.several("activation_sizes", into.activation_sizes);
    if (!into.activation_sizes.empty() && into.activation_sizes.size() != 3)
        throw py::value_error("activation_sizes: give three, of a forward and of its input and weight gradients");
    from.take("sequence_slices", into.sequence_slices);
}

void takeTimes(Keywords& from, ScheduleRequest& into) {
    from.path("op_costs", into.op_costs);
    from.take("pair_cuts", into.pair_cuts);
    from.path("stage_times", into.stage_times);
    from.time("forward", into.forward);
    from.time("backward", into.backward);
    from.time("input_grad", into.input_grad);
    from.time("weight_grad", into.weight_grad);
    from.time("overlapped", into.overlapped);
    from.time("comm", into.comm);
    from.time("loss", into.loss);
}

void takeTransfers(Keywords& from, TransferRequest& into) {
    from.size("activation_bytes", into.activation_bytes);
    from.size("gradient_bytes", into.gradient_bytes);
    from.take("bandwidth", into.bandwidth);
    from.path("links", into.links);
    from.take("comm_streams", into.streams);
    from.take("sends", into.sends);
    bool overlap = !into.no_overlap;
    from.take("comm_overlap", overlap);
    into.no_overlap = !overlap;
}

void takeMemory(Keywords& from, MemoryRequest& into) {
    from.path("memory_model", into.model);
    from.size("memory_budget", into.budget);
}

void takeRecognition(Keywords& from, RecogniseRequest& into) {
    from.texts("rules", into.rules);
    from.take("mesh", into.mesh);
    from.take("mesh_order", into.mesh_order);
    takeSchedule(from, into.schedule);
}

void takeSteps(Keywords& from, StepTexts& into) {
    from.texts("steps", into.steps);
    from.several("replicas", into.replicas);
    from.several("ranks", into.ranks);
}

void takeSearch(Keywords& from, SearchTexts& into) {
    takeSizes(from, into.schedule);
    takeTimes(from, into.schedule);
    takeTransfers(from, into.transfers);
    from.several("memory_limit", into.memory_limit);
    from.path("memory_model", into.memory_model);
    from.sizes("memory_budget", into.memory_budget);
    from.take("placement", into.placement);
    from.path("op_times", into.op_times);
    from.path("second", into.second);
    from.take("second_microbatches", into.second_microbatches);
    from.take("overlap_pairs", into.overlap_pairs);
    from.take("split_backward", into.split);
    from.take("noise", into.noise);
    std::optional<std::string> limit;
    from.time("time_limit", limit);
    into.time_limit = limit.value_or("");
    from.take("rounds", into.rounds);
    from.take("seed", into.seed);
    from.take("threads", into.threads);
}

} // namespace bubblescope::python
