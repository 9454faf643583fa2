#include "bindings/python/keywords.h"

#include "bindings/python/order.h"
#include "core/base/bytes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string_view>

namespace bubblescope::python {
namespace {

namespace py = pybind11;

std::string pathText(const py::object& value) {
    return py::module_::import("os").attr("fspath")(value).cast<std::string>();
}

std::int64_t notNegative(const char* name, std::int64_t value) {
    if (value < 0) raise(usageError(fmt::format("{}={} is negative", name, value), "use 0 or more"));
    return value;
}

bool isInteger(const py::object& value) {
    return PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0;
}

} // namespace

TimeNs Keywords::timeFrom(const char* name, const py::object& value) {
    if (py::isinstance<py::str>(value)) return valueOf(parseTime(value.cast<std::string>()));
    if (isInteger(value)) return TimeNs{notNegative(name, value.cast<std::int64_t>())};
    if (py::hasattr(value, "total_seconds"))
        return TimeNs{notNegative(name, std::llround(value.attr("total_seconds")().cast<double>() * 1e9))};
    throw py::type_error(fmt::format("{}: a time must be an integer number of nanoseconds, a datetime.timedelta, or a "
                                     "string with a unit, such as \"1.5ms\"",
                                     name));
}

std::int64_t Keywords::sizeFrom(const char* name, const py::object& value) {
    if (py::isinstance<py::str>(value)) return valueOf(parseBytes(value.cast<std::string>()));
    if (isInteger(value)) return notNegative(name, value.cast<std::int64_t>());
    throw py::type_error(
        fmt::format("{}: a size must be an integer number of bytes, or a string with a unit, such as \"80GiB\"", name));
}

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

void Keywords::texts(const char* name, std::vector<std::string>& into) {
    for (const py::object& value : list(name))
        into.push_back(py::hasattr(value, "__fspath__") ? pathText(value) : py::str(value).cast<std::string>());
}

void Keywords::sizes(const char* name, std::vector<std::int64_t>& into) {
    for (const py::object& value : list(name))
        into.push_back(sizeFrom(name, value));
}

void Keywords::end() const {
    if (rest_.empty()) return;
    throw py::type_error("unknown keyword: " + py::str(py::list(rest_.attr("keys")())).cast<std::string>());
}

void takeSizes(Keywords& from, ScheduleRequest& into) {
    from.take("pp", into.spec.pp);
    from.take("microbatches", into.spec.microbatches);
    from.take("vpp", into.vpp);
}

void takeSchedule(Keywords& from, ScheduleRequest& into) {
    if (const py::object schedule = from.taken("schedule"); py::isinstance<Order>(schedule))
        into.order = schedule.cast<Order>().schedule;
    else if (!schedule.is_none())
        into.spec.name = schedule.cast<std::string>();
    from.path("schedule_file", into.file);
    takeSizes(from, into);
    from.take("flavor", into.spec.flavor);
    from.take("group_size", into.spec.group_size);
    from.take("memory_limit", into.spec.memory_limit);
    from.several("activation_sizes", into.activation_sizes);
    if (!into.activation_sizes.empty() && into.activation_sizes.size() != 3)
        throw py::value_error(
            "activation_sizes: give three sizes: of a forward, its input gradient and its weight gradient");
    from.take("sequence_slices", into.spec.sequence_slices);
    EncoderRequest encoders;
    from.parsed("encoders", encoders, parseEncoders);
    into.spec.encoders = encoders.ranks;
    into.encoder_times = encoders.times;
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
    from.time("all_reduce", into.all_reduce);
    from.time("comm", into.spec.comm);
    from.time("loss", into.spec.loss);
}

void takeTransfers(Keywords& from, TransferRequest& into) {
    from.size("activation_bytes", into.stated.activation_bytes);
    from.size("gradient_bytes", into.gradient_bytes);
    from.parsed("bandwidth", into.stated.bytes_per_second, parseBandwidth);
    from.path("links", into.links);
    from.parsed("comm_streams", into.stated.streams, parseCommStreams);
    from.parsed("sends", into.stated.sends, parseSendMode);
    bool overlap = true;
    from.take("comm_overlap", overlap);
    into.stated.on_compute_stream = !overlap;
}

void takeMemory(Keywords& from, MemoryRequest& into) {
    from.path("memory_model", into.model);
    from.size("memory_budget", into.budget);
}

void takeRecognition(Keywords& from, RecogniseRequest& into) {
    from.texts("rules", into.rules);
    from.texts("rank_of", into.ranks);
    from.take("mesh", into.mesh);
    from.take("mesh_order", into.mesh_order);
    takeSchedule(from, into.schedule);
}

void takeSteps(Keywords& from, StepRequest& into) {
    std::vector<std::string> steps;
    from.texts("steps", steps);
    if (!steps.empty()) into.steps = valueOf(parseStepRanges(fmt::format("{}", fmt::join(steps, ","))));
    from.several("replicas", into.replicas);
    from.several("ranks", into.ranks);
}

void takeSearch(Keywords& from, OrderRequest& into) {
    takeSizes(from, into.schedule);
    takeTimes(from, into.schedule);
    takeTransfers(from, into.schedule.transfers);
    from.several("memory_limit", into.search.activations);
    from.path("memory_model", into.memory_model);
    from.sizes("memory_budget", into.search.bytes);
    from.take("placement", into.placement);
    from.path("op_times", into.schedule.op_times);
    from.path("second", into.second);
    from.take("second_microbatches", into.second_microbatches);
    from.take("overlap_pairs", into.search.pairs);
    from.parsed("split_backward", into.search.split, [](std::string_view word) -> Result<SplitBackward> {
        return word == "on" ? SplitBackward::On : word == "off" ? SplitBackward::Off : SplitBackward::Auto;
    });
    from.parsed("noise", into.noise, parseNoise);
    from.time("time_limit", into.search.time_limit);
    from.take("rounds", into.search.rounds);
    from.take("seed", into.search.seed);
    from.take("threads", into.search.threads);
}

} // namespace bubblescope::python
