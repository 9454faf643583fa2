#include "core/formats/kineto/writer.h"

#include "core/base/text.h"
#include "core/formats/chrome/event_text.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/formats/source/replacing_file.h"
#include "core/formats/source/source_files.h"
#include "core/timeline/trace_names.h"
#include "core/trace/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace bubblescope::kineto {
namespace {

constexpr std::int64_t kDevices = 1000;      ///< processes with a lower number are devices
constexpr std::int64_t kComputeStream = 7;   ///< as in PyTorch
constexpr std::int64_t kTransferStream = 20; ///< the first stream of NCCL kernels
constexpr std::string_view kStepName = "ProfilerStep#";

bool onDevice(std::string_view category) {
    return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
}

bool isCall(std::string_view category) {
    return category == "cuda_runtime" || category == "cuda_driver";
}

/// The kind of a slice for a tool that only knows kernels.
enum class Work : std::uint8_t {
    None,
    Compute,
    Collective,
    SendActivation,
    SendGradient,
    ReceiveActivation,
    ReceiveGradient
};

/// The work of an op reported by a recorded job's framework: "2F3", "2SEND_F3", "REDUCE_GRAD".
Work statedWork(std::string_view name) {
    const std::string_view kind = name.substr(std::min(name.find_first_not_of("0123456789"), name.size()));
    for (const auto& [begin, work] :
         {std::pair{"SEND_F", Work::SendActivation}, std::pair{"SEND_B", Work::SendGradient},
          std::pair{"RECV_F", Work::ReceiveActivation}, std::pair{"RECV_B", Work::ReceiveGradient},
          std::pair{"REDUCE", Work::Collective}})
        if (kind.starts_with(begin)) return work;
    return Work::Compute;
}

Work workOf(const Trace& trace, SliceId slice) {
    const std::string_view category = trace.category(slice);
    if (category == perfetto::kPipelineCategory) return statedWork(trace.name(slice));
    if (category == trace_names::kOp) return Work::Compute;
    if (category == trace_names::kCollective) return Work::Collective;
    const bool sends = category == trace_names::kSend;
    if (!sends && category != trace_names::kReceive) return Work::None;
    const bool gradient = trace.textArg(trace.sliceArgs()[slice], "payload").value_or("") == trace_names::kGradient;
    if (sends) return gradient ? Work::SendGradient : Work::SendActivation;
    return gradient ? Work::ReceiveGradient : Work::ReceiveActivation;
}

/// The rank in Bubblescope's name of a process: "rank 3", "rank 3 of replica 1". The process number counts all ranks
/// from 1.
std::optional<std::int64_t> rankOfProcess(const Trace& trace, const Track& track) {
    constexpr std::string_view kRank = "rank ";
    const std::string_view name = trace.text(track.process_name);
    if (!name.starts_with(kRank)) return std::nullopt;
    if (name.find(' ', kRank.size()) != std::string_view::npos) return track.pid - 1;
    return parseNumber<std::int64_t>(name.substr(kRank.size()));
}

std::map<std::int64_t, std::vector<TrackId>> tracksOfRanks(const Trace& trace) {
    std::map<std::int64_t, std::vector<TrackId>> ranks;
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        if (track.first_slice == track.end_slice) continue;
        std::optional<std::int64_t> rank = trace.files()[track.file].rank;
        if (!rank) rank = rankOfProcess(trace, track);
        ranks[std::max<std::int64_t>(0, rank.value_or(0))].push_back(id);
    }
    return ranks;
}

/// The file of one rank.
class RankWriter {
public:
    RankWriter(ReplacingFile& file, const Trace& trace, const RowNumbers& rows, const std::vector<TrackId>& tracks)
        : trace_(trace), rows_(rows), tracks_(tracks), out_(file) {}

    void write(std::int64_t rank, std::int64_t ranks) {
        survey();
        add("{{\"schemaVersion\":1,\"deviceProperties\":[],\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\": {},"
            "\"world_size\":{}}},\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":{},\"traceEvents\":[\n",
            rank, ranks, trace_.origin().count());
        for (const TrackId track : tracks_)
            slices(track);
        for (const auto& [step, window] : steps_)
            event(steps_row_, "user_annotation", fmt::format("{}{}", kStepName, step), window.first, window.second, "");
        names();
        text_ += "\n]}\n";
        flush();
    }

private:
    using Row = RowNumbers::Row;

    template <class... Parts>
    void add(fmt::format_string<Parts...> format, Parts&&... parts) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
    }

    void flush() {
        out_.write(text_);
        text_.clear();
    }

    [[nodiscard]] Row hostRow(TrackId track) const {
        Row row = rows_.of(track);
        if (row.pid < kDevices) row.pid += kDevices;
        return row;
    }

    /// Collects what must be known before the first event is written.
    void survey() {
        bool has_steps = false;
        readMarks();
        for (const TrackId id : tracks_) {
            const Track& track = trace_.tracks()[id];
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                const std::string_view category = trace_.category(slice);
                const ArgSetId args = trace_.sliceArgs()[slice];
                if (onDevice(category)) {
                    has_device_ = true;
                    if (const auto correlation = trace_.intArg(args, "correlation")) started_.insert(*correlation);
                } else if (category == trace_names::kOp || category == perfetto::kPipelineCategory) {
                    const auto step =
                        category == trace_names::kOp ? trace_.intArg(args, "step") : markedStep(trace_.start(slice));
                    if (!step) continue;
                    if (steps_.empty()) steps_row_ = hostRow(id);
                    const std::pair span(trace_.start(slice), trace_.end(slice));
                    const auto [known, is_new] = steps_.try_emplace(*step, span);
                    known->second.first = std::min(known->second.first, span.first);
                    known->second.second = std::max(known->second.second, span.second);
                } else {
                    has_steps = has_steps || trace_.name(slice).starts_with(kStepName);
                }
            }
        }
        if (has_steps) steps_.clear();
    }

    /// Marks of the framework's steps in a recorded job. A mark with another name ends a step.
    void readMarks() {
        const std::set<TrackId> own(tracks_.begin(), tracks_.end());
        for (const Instant& instant : trace_.instants()) {
            if (trace_.text(instant.category) != perfetto::kPipelineCategory || !own.contains(instant.track)) continue;
            const std::string_view name = trace_.text(instant.name);
            marks_[instant.time] = name.starts_with(perfetto::kStepMark)
                                       ? parseNumber<std::int64_t>(name.substr(perfetto::kStepMark.size()))
                                       : std::nullopt;
        }
    }

    [[nodiscard]] std::optional<std::int64_t> markedStep(TimeNs at) const {
        const auto behind = marks_.upper_bound(at);
        return behind == marks_.begin() ? std::nullopt : std::prev(behind)->second;
    }

    void slices(TrackId id) {
        const Track& track = trace_.tracks()[id];
        const Row host = hostRow(id);
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            const std::string_view category = trace_.category(slice);
            const ArgSetId args = trace_.sliceArgs()[slice];
            Row row = host;
            const auto correlation = trace_.intArg(args, "correlation");
            const bool of_device = onDevice(category);
            if (of_device) {
                row = {trace_.intArg(args, "device").value_or(0), trace_.intArg(args, "stream").value_or(host.tid)};
                streams_.try_emplace({row.pid, row.tid}, trace_.text(track.thread_name));
            } else {
                threads_.try_emplace({row.pid, row.tid}, id);
            }
            event(row, category, trace_.name(slice), trace_.start(slice), trace_.end(slice), trace_.argsJson(args));
            if (!has_device_) addKernelOf(host, slice, workOf(trace_, slice));
            if (!correlation) continue;
            const bool starts = isCall(category) && started_.contains(*correlation);
            if (starts || of_device) arrow(row, starts, *correlation, trace_.start(slice));
        }
    }

    /// Writes the work of a rank without a device as kernels, for tools that only measure time on devices. Such tools
    /// ignore kernels without a launch.
    void addKernelOf(const Row& host, SliceId slice, Work work) {
        if (work == Work::None) return;
        std::string name(trace_.name(slice));
        std::int64_t stream = kComputeStream;
        if (work == Work::Collective) {
            name = "ncclDevKernel_AllReduce_Sum";
            stream = kTransferStream;
        } else if (work != Work::Compute) {
            name = "ncclDevKernel_SendRecv";
            stream = kTransferStream + 1 + static_cast<int>(work) - static_cast<int>(Work::SendActivation);
        }
        if (trace_.end(slice) == trace_.start(slice)) return; // such tools expect kernels of non-zero duration
        streams_.try_emplace({0, stream}, stream == kComputeStream ? "compute" : "transfers");
        const TimeNs start = trace_.start(slice);
        event(host, "cuda_runtime", "cudaLaunchKernel", start, start, fmt::format(R"({{"correlation":{}}})", ++made_));
        arrow(host, true, made_, start);
        event({0, stream}, "kernel", name, start, trace_.end(slice),
              fmt::format(R"({{"device":0,"context":1,"stream":{},"correlation":{}}})", stream, made_));
        arrow({0, stream}, false, made_, start);
    }

    void event(const Row& row, std::string_view category, std::string_view name, TimeNs start, TimeNs end,
               std::string_view args) {
        separate();
        text_ += R"({"ph":"X","cat":)";
        text_ += quotedJson(category);
        text_ += R"(,"name":)";
        text_ += quotedJson(name);
        add(R"(,"pid":{},"tid":{},"ts":)", row.pid, row.tid);
        chrome::appendMicroseconds(start, text_);
        text_ += R"(,"dur":)";
        chrome::appendMicroseconds(end - start, text_);
        if (!args.empty()) {
            text_ += R"(,"args":)";
            text_ += args;
        }
        text_ += '}';
    }

    void arrow(const Row& row, bool starts, std::int64_t id, TimeNs time) {
        separate();
        add(R"({{"ph":"{}","cat":"ac2g","name":"ac2g","id":{},"pid":{},"tid":{},"ts":{}{}}})", starts ? 's' : 'f', id,
            row.pid, row.tid, chrome::microseconds(time), starts ? "" : R"(,"bp":"e")");
    }

    void metadata(const Row& row, std::string_view what, std::string_view name, std::string_view value) {
        separate();
        add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"ts":0.000,"args":{{"{}":{}}}}})", what, row.pid, row.tid, name,
            value);
    }

    void names() {
        std::set<std::int64_t> processes;
        for (const auto& [at, id] : threads_) {
            const Row row{at.first, at.second};
            const Track& track = trace_.tracks()[id];
            if (processes.insert(row.pid).second) {
                metadata(row, "process_name", "name", quotedJson(trace_.text(track.process_name)));
                metadata(row, "process_labels", "labels", quotedJson("CPU"));
                metadata(row, "process_sort_index", "sort_index", fmt::to_string(row.pid));
            }
            if (track.thread_name != 0)
                metadata(row, "thread_name", "name", quotedJson(trace_.text(track.thread_name)));
        }
        constexpr std::int64_t kBelowProcesses = 5'000'000;
        for (const auto& [at, purpose] : streams_) {
            const Row row{at.first, at.second};
            if (processes.insert(row.pid).second) {
                metadata(row, "process_name", "name", quotedJson("python"));
                metadata(row, "process_labels", "labels", quotedJson(fmt::format("GPU {}", row.pid)));
                metadata(row, "process_sort_index", "sort_index", fmt::to_string(kBelowProcesses + row.pid));
            }
            metadata(row, "thread_name", "name", quotedJson(fmt::format("stream {} {}", row.tid, purpose)));
        }
    }

    void separate() {
        constexpr std::size_t kFlushed = std::size_t{1} << 16;
        if (text_.size() >= kFlushed) flush();
        if (!std::exchange(first_, false)) text_ += ",\n";
    }

    const Trace& trace_;
    const RowNumbers& rows_;
    const std::vector<TrackId>& tracks_;
    ReplacingFile& out_;
    std::string text_; ///< not written to out_ yet
    bool first_ = true;
    bool has_device_ = false;
    std::unordered_set<std::int64_t> started_;            ///< correlation ids of device work
    std::map<TimeNs, std::optional<std::int64_t>> marks_; ///< start of each step
    std::map<std::int64_t, std::pair<TimeNs, TimeNs>> steps_;
    Row steps_row_;
    std::map<std::pair<std::int64_t, std::int64_t>, TrackId> threads_; ///< by process and thread
    std::map<std::pair<std::int64_t, std::int64_t>, std::string_view> streams_;
    /// Correlation ids of kernels made from ops and transfers, as large as those of real jobs, because tools size their
    /// columns by them.
    std::int64_t made_ = 100'000;
};

} // namespace

Result<int> writeRanks(const std::filesystem::path& folder, const Trace& trace) {
    BUBBLESCOPE_ASSIGN(ReplacingFiles files, ReplacingFiles::in(folder));
    const auto ranks = tracksOfRanks(trace);
    const RowNumbers rows(trace);
    const std::int64_t count = ranks.empty() ? 1 : ranks.rbegin()->first + 1;
    for (const auto& [rank, tracks] : ranks) {
        BUBBLESCOPE_ASSIGN(ReplacingFile* const file, files.begin(fmt::format("rank{}.pt.trace.json", rank)));
        RankWriter(*file, trace, rows, tracks).write(rank, count);
    }
    BUBBLESCOPE_TRY(files.commit());
    return static_cast<int>(ranks.size());
}

} // namespace bubblescope::kineto
