#include "bindings/bubblescope_aadiff.h"
#include "core/aadiff/check_session.h"
#include "core/aadiff/digest.h"
#include "core/aadiff/mismatch.h"
#include "core/base/result.h"
#include "core/families/registry.h"
#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/native_events.h"
#include "core/schedule/schedule_files.h"
#include "core/timeline/trace_names.h"
#include "profiler/recorder/segment_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

// The C interface of CheckSession: validates arguments, converts errors and exceptions to codes, serialises calls, and
// passes the events of each step to a trace file and to the caller's function.

struct bubblescope_aadiff {
    std::mutex mutex;
    bubblescope::CheckSession checks;
    std::optional<bubblescope::profiler::TraceSegmentWriter> writer; ///< none = no trace
    bubblescope_aadiff_event event;                                  ///< receives checks; may be null
};

namespace bubblescope::bindings {
namespace {

thread_local std::string last_error;

int fail(std::string message) {
    last_error = std::move(message);
    return BUBBLESCOPE_AADIFF_ERROR;
}

/// Calls `work`, which returns a Result<int>. Does not throw.
template <class Work>
int guarded(const Work& work) noexcept {
    try {
        const Result<int> result = work();
        return result.ok() ? result.value() : fail(result.error().text());
    } catch (const std::exception& error) {
        try {
            return fail(error.what());
        } catch (...) {
            return BUBBLESCOPE_AADIFF_ERROR;
        }
    } catch (...) {
        return BUBBLESCOPE_AADIFF_ERROR;
    }
}

/// Calls `work` for a session while no other call uses that session.
template <class Work>
int locked(bubblescope_aadiff* session, const Work& work) noexcept {
    return guarded([&]() -> Result<int> {
        if (session == nullptr) return usageError("the session is NULL");
        const std::lock_guard lock(session->mutex);
        return work(*session);
    });
}

template <class Work>
int withChecks(bubblescope_aadiff* session, const Work& work) noexcept {
    return locked(session, [&](bubblescope_aadiff& open) { return work(open.checks); });
}

Result<int> codeOf(const Status& status) {
    if (!status.ok()) return status.error();
    return 0;
}

/// Copies a struct from a caller of any version. Members that are missing in the caller's version are 0.
template <class Struct>
Result<Struct> taken(const Struct* from, const char* what) {
    if (from == nullptr) return usageError(std::string(what) + " is NULL");
    Struct copy{};
    constexpr std::size_t kMax = 4096;
    if (from->size < sizeof from->size || from->size > kMax)
        return usageError(std::string(what) + " does not set its size", "set its member 'size' to sizeof");
    std::memcpy(&copy, from, std::min<std::size_t>(from->size, sizeof copy));
    return copy;
}

/// Sets the members that exist in the caller's version.
template <class Struct>
Status give(Struct value, Struct* to, const char* what) {
    BUBBLESCOPE_ASSIGN(const Struct asked, taken(to, what));
    value.size = asked.size;
    std::memcpy(to, &value, std::min<std::size_t>(asked.size, sizeof value));
    return {};
}

Result<Op> opOf(const bubblescope_aadiff_op_id& id) {
    const auto kind = opKindFromLetter(id.kind);
    if (!kind) return usageError(std::string("no ops of kind '") + id.kind + "'", "kinds are F, B, I, W and O");
    return Op{*kind, Microbatch{id.microbatch}, Chunk{id.chunk}, id.sequence};
}

Result<Op> opOf(const bubblescope_aadiff_op_id* id) {
    BUBBLESCOPE_ASSIGN(const bubblescope_aadiff_op_id op, taken(id, "the op"));
    return opOf(op);
}

Result<LayerOp> layerOf(const bubblescope_aadiff_task* task) {
    BUBBLESCOPE_ASSIGN(const bubblescope_aadiff_task given, taken(task, "the task"));
    BUBBLESCOPE_ASSIGN(const Op op, opOf(given.op));
    return LayerOp{op, given.layer};
}

bubblescope_aadiff_op_id idOf(const Op& op) {
    return {sizeof(bubblescope_aadiff_op_id), opLetter(op.kind), op.microbatch.value, op.chunk.value, op.sequence};
}

std::string textOr(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

Result<std::vector<OpKind>> kindsOf(std::string_view letters) {
    std::vector<OpKind> kinds;
    for (const char letter : letters) {
        const auto kind = opKindFromLetter(letter);
        if (!kind || kind == OpKind::Optimizer)
            return usageError(std::string("no checks of kind '") + letter + "'", "kinds are F, B, I and W");
        kinds.push_back(*kind);
    }
    return kinds;
}

constexpr int kMaxChunks = 4096;

void report(bubblescope_aadiff_event event, const CheckRecord& record, Stage stage) {
    perfetto::CheckEvent check(record, stage);
    check.add({"rank", std::int64_t{record.rank.value}});
    check.add({"replica", std::int64_t{record.replica}});
    check.add({"tensor_rank", std::int64_t{record.tensor_rank}});
    const auto from = check.args();
    std::vector<std::pair<std::string, std::string>> texts; // zero-terminated texts
    for (const perfetto::Arg& arg : from) {
        const auto* const text = std::get_if<std::string_view>(&arg.value);
        texts.emplace_back(arg.name, text == nullptr ? std::string() : std::string(*text));
    }
    std::vector<bubblescope_aadiff_arg> args;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const auto* const number = std::get_if<std::int64_t>(&from[i].value);
        args.push_back({texts[i].first.c_str(), number != nullptr ? nullptr : texts[i].second.c_str(),
                        number != nullptr ? *number : 0});
    }
    event(std::string(trace_names::kReplay).c_str(), std::string(trace_names::kCheck).c_str(), check.name().c_str(),
          record.start.count(), record.end.count(), args.data(), args.size());
}

Status endStep(bubblescope_aadiff& session) {
    BUBBLESCOPE_ASSIGN(CheckedStep step, session.checks.endStep());
    Status status;
    if (session.writer) {
        std::vector<profiler::SliceRecord> slices;
        for (const TimelineOp& op : step.ops)
            slices.push_back(profiler::SliceRecord::of(op, session.checks.stageOf(op.op.chunk), step.number));
        status = session.writer->append(slices);
        if (status.ok()) status = session.writer->append(step.checks, step.digests);
    }
    for (std::size_t i = 0; session.event != nullptr && i < step.checks.size(); ++i)
        report(session.event, step.checks[i], session.checks.stageOf(step.checks[i].op.chunk));
    return status;
}

Status close(bubblescope_aadiff& session) {
    if (session.checks.inStep()) BUBBLESCOPE_TRY(endStep(session));
    return session.writer ? session.writer->appendEnd(0) : Status{};
}

Result<profiler::TraceSegmentWriter> openTrace(const std::filesystem::path& directory, std::string device,
                                               const CheckSession::Config& config) {
    std::error_code failed;
    std::filesystem::create_directories(directory, failed);
    if (failed) return runError(fmt::format("cannot create {}: {}", directory.string(), failed.message()));
    RunInfo info = RunInfo::of("embedded", config.schedule);
    info.dp = config.replicas;
    info.tp = config.tensor_ranks;
    const CheckPlace& place = config.place;
    const Rank world{(place.rank.value * info.dp + place.replica) * info.tp + place.tensor_rank};
    ProcessInfo host = thisProcess();
    host.device = std::move(device);
    return profiler::TraceSegmentWriter::create(directory, info, world, readClocks(), host);
}

Result<CheckSession::Config> configOf(const bubblescope_aadiff_config& given) {
    if (given.schedule == nullptr) return usageError("the configuration has no schedule");
    CheckSession::Config config;
    const ScheduleSpec spec{given.schedule, textOr(given.flavor), given.pp, given.microbatches,
                            given.vpp == 0 ? 1 : given.vpp};
    BUBBLESCOPE_ASSIGN(config.schedule, given.order == nullptr || *given.order == '\0'
                                            ? makeSchedule(spec)
                                            : scheduleFromCsv(given.order, "the order of the schedule"));
    config.place = {given.replica, Rank{given.rank}, given.tensor_rank};
    config.replicas = given.dp == 0 ? 1 : given.dp;
    config.tensor_ranks = given.tp == 0 ? 1 : given.tp;
    const auto chunks = static_cast<std::size_t>(std::clamp(spec.vpp, 0, kMaxChunks));
    config.layers.assign(chunks, given.layers_per_stage == 0 ? 1 : given.layers_per_stage);
    if (given.layers != nullptr) {
        config.layers.assign(given.layers, given.layers + chunks);
        config.layers_of_model = false;
    }
    BUBBLESCOPE_ASSIGN(config.kinds, kindsOf(textOr(given.kinds)));
    config.forward_again = given.forward_again != 0;
    if (given.kept_bytes != nullptr) config.kept.assign(given.kept_bytes, given.kept_bytes + chunks);
    if (given.room_bytes != 0) config.room = std::max<std::int64_t>(given.room_bytes, 0);
    config.margin = given.margin == 0 ? 0.1 : given.margin;
    config.latency = TimeNs{given.latency_ns};
    config.records_digests = given.directory != nullptr && *given.directory != '\0';
    if (given.forward_ns == 0) return config;
    const auto time = [](std::int64_t ns) { return ns == 0 ? std::optional<TimeNs>() : TimeNs{ns}; };
    BUBBLESCOPE_ASSIGN(config.times, makeOpTimes(TimeNs{given.forward_ns}, time(given.backward_ns),
                                                 time(given.input_grad_ns), time(given.weight_grad_ns)));
    return config;
}

/// Creates the trace only after the rest of the configuration has been validated.
Result<std::unique_ptr<bubblescope_aadiff>> open(const bubblescope_aadiff_config* from) {
    BUBBLESCOPE_ASSIGN(const bubblescope_aadiff_config given, taken(from, "the configuration"));
    BUBBLESCOPE_ASSIGN(const CheckSession::Config config, configOf(given));
    BUBBLESCOPE_ASSIGN(CheckSession checks, CheckSession::make(config));
    auto session =
        std::unique_ptr<bubblescope_aadiff>(new bubblescope_aadiff{{}, std::move(checks), std::nullopt, given.event});
    if (!config.records_digests) return session;
    BUBBLESCOPE_ASSIGN(session->writer, openTrace(given.directory, textOr(given.device), config));
    return session;
}

std::optional<ElementType> elementType(std::int32_t type) {
    switch (type) {
    case BUBBLESCOPE_AADIFF_BITS8: return ElementType::Bits8;
    case BUBBLESCOPE_AADIFF_BITS16: return ElementType::Bits16;
    case BUBBLESCOPE_AADIFF_BITS32: return ElementType::Bits32;
    case BUBBLESCOPE_AADIFF_BITS64: return ElementType::Bits64;
    case BUBBLESCOPE_AADIFF_FLOAT16: return ElementType::Float16;
    case BUBBLESCOPE_AADIFF_BFLOAT16: return ElementType::BFloat16;
    case BUBBLESCOPE_AADIFF_FLOAT32: return ElementType::Float32;
    case BUBBLESCOPE_AADIFF_FLOAT64: return ElementType::Float64;
    default: return std::nullopt;
    }
}

} // namespace
} // namespace bubblescope::bindings

using namespace bubblescope;           // NOLINT: no header, and the functions below have C names
using namespace bubblescope::bindings; // NOLINT

extern "C" {

uint32_t bubblescope_aadiff_version(void) {
    return BUBBLESCOPE_AADIFF_VERSION;
}

const char* bubblescope_aadiff_error(void) {
    return last_error.c_str();
}

int64_t bubblescope_aadiff_now(void) {
    return readClocks().monotonic.count();
}

uint64_t bubblescope_aadiff_digest(const void* data, size_t bytes) {
    return digest::of(data, bytes);
}

uint64_t bubblescope_aadiff_digest_sum(const void* data, size_t bytes, uint64_t first_word) {
    return digest::sum(data, bytes, first_word);
}

uint64_t bubblescope_aadiff_digest_finish(uint64_t sum, uint64_t bytes) {
    return digest::finish(sum, bytes);
}

int bubblescope_aadiff_open(const bubblescope_aadiff_config* config, bubblescope_aadiff** session) {
    return guarded([&]() -> Result<int> {
        if (session == nullptr) return usageError("the session argument is NULL");
        *session = nullptr;
        BUBBLESCOPE_ASSIGN(std::unique_ptr<bubblescope_aadiff> opened, bindings::open(config));
        *session = opened.release();
        return 0;
    });
}

void bubblescope_aadiff_close(bubblescope_aadiff* session) {
    if (session == nullptr) return;
    const std::unique_ptr<bubblescope_aadiff> owned(session);
    locked(session, [](bubblescope_aadiff& open) { return codeOf(close(open)); });
}

int bubblescope_aadiff_leave_out(bubblescope_aadiff* session, int32_t chunk, int32_t layer) {
    return bubblescope_aadiff_leave_out_kinds(session, chunk, layer, "FBIW");
}

int bubblescope_aadiff_leave_out_kinds(bubblescope_aadiff* session, int32_t chunk, int32_t layer, const char* kinds) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const std::vector<OpKind> left_out, kindsOf(textOr(kinds)));
        return codeOf(open.leaveOut(Chunk{chunk}, layer, left_out));
    });
}

int bubblescope_aadiff_begin_step(bubblescope_aadiff* session, int32_t step) {
    return withChecks(session, [&](CheckSession& open) { return codeOf(open.beginStep(step)); });
}

int bubblescope_aadiff_end_step(bubblescope_aadiff* session) {
    return locked(session, [](bubblescope_aadiff& open) { return codeOf(endStep(open)); });
}

int bubblescope_aadiff_op(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op, int64_t start_ns,
                          int64_t end_ns) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const Op ran, opOf(op));
        return codeOf(open.ran(ran, TimeNs{start_ns}, TimeNs{end_ns}));
    });
}

int bubblescope_aadiff_wanted(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op, int32_t layer) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const Op of, opOf(op));
        BUBBLESCOPE_ASSIGN(const bool wanted, open.wanted({of, layer}));
        return wanted ? 1 : 0;
    });
}

int bubblescope_aadiff_planned(bubblescope_aadiff* session, bubblescope_aadiff_task* tasks, size_t count) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        const std::vector<LayerOp> planned = open.planned();
        for (std::size_t i = 0; i < std::min(planned.size(), count); ++i) {
            bubblescope_aadiff_task out{};
            out.op = idOf(planned[i].op);
            out.layer = planned[i].layer;
            BUBBLESCOPE_TRY(give(out, tasks == nullptr ? nullptr : tasks + i, "a task"));
        }
        return static_cast<int>(planned.size());
    });
}

int bubblescope_aadiff_withdraw(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op, int32_t layer) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const Op of, opOf(op));
        return codeOf(open.withdraw({of, layer}));
    });
}

int bubblescope_aadiff_move(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op, int32_t layer,
                            int32_t microbatch) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const Op of, opOf(op));
        return codeOf(open.move({of, layer}, Microbatch{microbatch}));
    });
}

int bubblescope_aadiff_computed(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op, int32_t layer,
                                const char* tensor, uint64_t digest) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const Op of, opOf(op));
        return codeOf(open.computed({of, layer}, textOr(tensor), digest, TimeNs{bubblescope_aadiff_now()}));
    });
}

int bubblescope_aadiff_ask(bubblescope_aadiff* session, int64_t free_ns, bubblescope_aadiff_task* task) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        const auto free = free_ns > 0 ? std::optional(TimeNs{free_ns}) : std::nullopt;
        BUBBLESCOPE_ASSIGN(const std::optional<CheckTask> found, open.ask(TimeNs{bubblescope_aadiff_now()}, free));
        if (!found) return 0;
        bubblescope_aadiff_task out{};
        out.op = idOf(found->what.op);
        out.layer = found->what.layer;
        out.cost_ns = found->cost.count();
        out.free_ns = found->free.count();
        BUBBLESCOPE_TRY(give(out, task, "the task"));
        return 1;
    });
}

int bubblescope_aadiff_checked(bubblescope_aadiff* session, const bubblescope_aadiff_task* task, const char* tensor,
                               uint64_t digest, int64_t start_ns, int64_t end_ns) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const LayerOp what, layerOf(task));
        BUBBLESCOPE_ASSIGN(const CheckOutcome outcome,
                           open.checked(what, textOr(tensor), digest, TimeNs{start_ns}, TimeNs{end_ns}));
        return outcome == CheckOutcome::Equal ? BUBBLESCOPE_AADIFF_EQUAL : BUBBLESCOPE_AADIFF_MISMATCH;
    });
}

int bubblescope_aadiff_given_up(bubblescope_aadiff* session, const bubblescope_aadiff_task* task, int64_t start_ns,
                                int64_t end_ns) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        BUBBLESCOPE_ASSIGN(const LayerOp what, layerOf(task));
        return codeOf(open.givenUp(what, TimeNs{start_ns}, TimeNs{end_ns}));
    });
}

int bubblescope_aadiff_difference(bubblescope_aadiff* session, const void* first, const void* second, int64_t elements,
                                  int32_t element_type) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        const auto type = elementType(element_type);
        if (!type) return usageError("unknown element type");
        if (first == nullptr || second == nullptr || elements < 0) return usageError("no tensors to compare");
        return codeOf(open.setDifference(elementDifference(first, second, elements, *type)));
    });
}

int bubblescope_aadiff_repeated(bubblescope_aadiff* session, const uint64_t* here, size_t here_count,
                                const uint64_t* there, size_t there_count) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        if ((here == nullptr && here_count > 0) || (there == nullptr && there_count > 0))
            return usageError("the digests are NULL");
        BUBBLESCOPE_ASSIGN(const Verdict verdict, open.repeated({here, here_count}, {there, there_count}));
        return static_cast<int>(verdict);
    });
}

int bubblescope_aadiff_count(bubblescope_aadiff* session, bubblescope_aadiff_counts* counts) {
    return withChecks(session, [&](CheckSession& open) -> Result<int> {
        const CheckSessionCounts& now = open.counts();
        bubblescope_aadiff_counts out{};
        out.planned = now.planned;
        out.equal = now.checks.equal;
        out.mismatched = now.checks.mismatched;
        out.aborted = now.checks.aborted;
        out.skipped = now.checks.skipped;
        out.units = now.units;
        out.units_covered = now.covered;
        BUBBLESCOPE_TRY(give(out, counts, "the argument for the counts"));
        return 0;
    });
}

} // extern "C"
