#pragma once

#include "core/base/job.h"
#include "core/base/process_team.h"
#include "core/base/wire.h"
#include "core/formats/read_trace.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/rule_table.h"
#include "core/recognise/run.h"
#include "core/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The raw slices of some neighbouring files of a trace, held by one process. A single process holds one partition with
/// all files. Files are numbered as in the whole trace, times count from the whole trace's origin. One thread at a
/// time.
class TracePartition {
public:
    /// An empty partition, filled by read() and finish(). `number` is its index among all partitions. `user_rules` come
    /// before the built-in ones; they and `control` must outlive the partition.
    TracePartition(std::size_t number, std::span<const RecognitionRule> user_rules, JobControl& control)
        : number_(number), user_rules_(user_rules), control_(&control) {}
    /// The only partition of a trace.
    explicit TracePartition(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}

    struct ReadOutcome {
        std::vector<FileOutcome> files;
        std::vector<TraceFile> read; ///< the same files
        TraceExtent extent;
        std::vector<Diagnostic> problems; ///< of applying the files' clock offsets
    };
    /// Reads files of which the first has index `first_file` in the trace. Error: Cancelled.
    [[nodiscard]] Result<ReadOutcome> read(std::span<const InputFile> files, std::uint32_t first_file);
    /// Sorts what was read. `extent` is that of all partitions. Error: Cancelled.
    [[nodiscard]] Result<std::vector<Diagnostic>> finish(const TraceExtent& extent);

    [[nodiscard]] std::size_t number() const { return number_; }
    /// Long extractions check it now and then; if it requests a stop, their values may be anything.
    [[nodiscard]] const JobControl& control() const;
    [[nodiscard]] const Trace& trace() const { return *trace_; }
    [[nodiscard]] std::shared_ptr<const Trace> sharedTrace() const { return trace_; }
    [[nodiscard]] std::size_t fileCount() const { return trace_->files().size(); }
    [[nodiscard]] std::uint32_t firstFile() const { return first_file_; }
    /// The index of a track's file in the whole trace.
    [[nodiscard]] std::uint32_t fileOf(const Track& track) const { return first_file_ + track.file; }
    /// The global rank of the partition's i-th file; files that do not state it are numbered in their order.
    [[nodiscard]] std::int64_t rankOf(std::uint32_t i) const {
        return trace_->files()[i].rank.value_or(static_cast<std::int32_t>(first_file_ + i));
    }
    /// All tracks, grouped by file. (In the trace itself rows that were split off a thread come after all others.)
    [[nodiscard]] std::vector<TrackId> tracksByFile() const;

    [[nodiscard]] const RecognitionRule& rule(std::size_t i) const;
    /// The device's work, extracted on the first call and kept until forgetGpu().
    [[nodiscard]] const GpuWork& gpu();
    void forgetGpu() { gpu_.reset(); }

private:
    std::size_t number_ = 0;
    std::span<const RecognitionRule> user_rules_;
    JobControl* control_ = nullptr;
    TraceBuilder builder_; ///< between read() and finish()
    std::shared_ptr<const Trace> trace_;
    std::uint32_t first_file_ = 0;
    std::optional<GpuWork> gpu_;
};

struct NoQuery {};
template <class Wire>
void fields(Wire&, NoQuery&) {}

/// Work that every process does on its partition of a trace. Query and answer are sent between processes, so both need
/// fields() (core/base/wire.h).
template <class AnswerType, class QueryType = NoQuery>
struct PartitionTask {
    using Answer = AnswerType;
    using Query = QueryType;

    std::string_view name; ///< unique among all tasks
    Result<Answer> (*run)(TracePartition& partition, const Query& query);
};

/// For PartitionTask::run: a function that needs no query.
template <auto Function>
auto withoutQuery(TracePartition& partition, const NoQuery&) -> decltype(Function(partition)) {
    return Function(partition);
}

/// Reads raw slices: produces one value for each file of the partition, in their order. A value depends only on its
/// file and the query, so a trace has the same values however its files are distributed over processes. Analyses merge
/// them.
template <class Value, class Query = NoQuery>
using Extractor = PartitionTask<std::vector<Value>, Query>;

/// Divides files, in their order, into one range per process, so that the process with the most to do has as little as
/// possible. Process i takes files [result[i], result[i + 1]). The first one puts together what all of them found,
/// which counts as a quarter of all bytes: of many processes it reads no file. A single file and standard input belong
/// to the first, which then takes all files.
[[nodiscard]] std::vector<std::size_t> partitionFiles(std::span<const InputFile> files, std::size_t processes);

/// The partitions' values in one list.
template <class Value>
[[nodiscard]] std::vector<Value> joined(std::vector<std::vector<Value>> partitions) {
    if (partitions.size() == 1) return std::move(partitions.front());
    std::vector<Value> all;
    for (std::vector<Value>& partition : partitions)
        std::ranges::move(partition, std::back_inserter(all));
    return all;
}

/// A trace whose files are distributed over processes, one partition in each, or all in this process. Lives on the
/// coordinator's root.
class PartitionedTrace {
public:
    /// Reads files, and every trace file below folders, as readTraces() does; problems go to `log`. Several processes
    /// take neighbouring files, see partitionFiles(). `coordinator` is null for this process alone; it,
    /// `user_rules` and `control` must outlive the result. `first_bytes` as for LoadOptions. Errors: those of
    /// readTraces(), and Run if a process fails.
    [[nodiscard]] static Result<std::shared_ptr<PartitionedTrace>> read(const std::vector<std::filesystem::path>& paths,
                                                                        JobControl& control,
                                                                        std::span<const RecognitionRule> user_rules,
                                                                        Coordinator* coordinator, DiagnosticLog& log,
                                                                        std::uint64_t first_bytes = 0);

    [[nodiscard]] std::span<const TraceFile> files() const { return files_; }
    [[nodiscard]] std::size_t sliceCount() const { return slices_; }
    [[nodiscard]] TimeNs span() const { return span_; }
    /// The partition in this process.
    [[nodiscard]] TracePartition& local() { return local_; }

    /// The answers of all processes, in the order of their files. Errors: Cancelled, and Run if a process fails.
    template <class Answer, class Query>
    [[nodiscard]] Result<std::vector<Answer>> run(const PartitionTask<Answer, Query>& task, const Query& query = {});

    /// The same with a query of its own for each process, and this one's answer first.
    template <class Answer, class Query>
    [[nodiscard]] Result<std::vector<Answer>> runEach(const PartitionTask<Answer, Query>& task,
                                                      const std::vector<Query>& queries);
    /// How many there are.
    [[nodiscard]] std::size_t processes() const { return coordinator_ == nullptr ? 1 : coordinator_->size(); }

    /// One value for each of files(). Errors: those of run().
    template <class Value, class Query>
    [[nodiscard]] Result<std::vector<Value>> extract(const Extractor<Value, Query>& extractor, const Query& query = {});

private:
    /// Those of the other processes, behind this one's. Bytes that have been read are freed.
    template <class Answer>
    [[nodiscard]] static Status addAnswers(std::vector<std::string> replies, std::vector<Answer>& answers) {
        for (std::size_t process = 1; process < replies.size(); ++process) {
            const std::string reply = std::move(replies[process]);
            WireReader in(reply);
            Answer answer{};
            in(answer);
            if (!in.done()) return runError("a process answered with bytes that nobody understands");
            answers.push_back(std::move(answer));
        }
        return {};
    }
    PartitionedTrace(std::span<const RecognitionRule> user_rules, JobControl& control, Coordinator* coordinator)
        : local_(0, user_rules, control), coordinator_(coordinator) {}

    TracePartition local_;
    Coordinator* coordinator_;
    std::vector<TraceFile> files_;
    std::size_t slices_ = 0;
    TimeNs span_{0};
};

/// The same for a loaded run: the answers of all processes; empty if its slices are gone.
template <class Answer, class Query = NoQuery>
[[nodiscard]] Result<std::vector<Answer>> runTask(const Run& run, const PartitionTask<Answer, Query>& task,
                                                  const Query& query = {}) {
    if (run.partitions != nullptr) return run.partitions->run(task, query);
    std::vector<Answer> answers;
    if (run.trace == nullptr) return answers;
    TracePartition whole(run.trace);
    BUBBLESCOPE_ASSIGN(Answer answer, task.run(whole, query));
    answers.push_back(std::move(answer));
    return answers;
}

/// One value for each of Run::inputs(); empty if its slices are gone.
template <class Value, class Query = NoQuery>
[[nodiscard]] Result<std::vector<Value>> extract(const Run& run, const Extractor<Value, Query>& extractor,
                                                 const Query& query = {}) {
    BUBBLESCOPE_ASSIGN(std::vector<std::vector<Value>> partitions, runTask(run, extractor, query));
    return joined(std::move(partitions));
}

/// The tasks that a process can be asked to run, by name.
class PartitionTasks {
public:
    PartitionTasks(); ///< with those of PartitionedTrace::read()

    template <class... Task>
    void add(const Task&... tasks) {
        (addOne(tasks), ...);
    }
    /// Runs the task that PartitionedTrace::run() requested. Errors: those of the task, and Run for unknown requests.
    [[nodiscard]] Result<std::string> handle(TracePartition& partition, std::string_view request) const;

private:
    using Handler = std::function<Result<std::string>(TracePartition&, WireReader& query)>;

    template <class Answer, class Query>
    void addOne(const PartitionTask<Answer, Query>& task) {
        handlers_.emplace(task.name, [task](TracePartition& partition, WireReader& in) -> Result<std::string> {
            Query query;
            in(query);
            if (!in.done()) return runError("a process was asked what it does not understand");
            BUBBLESCOPE_ASSIGN(const Answer answer, task.run(partition, query));
            WireWriter out;
            out(answer);
            return out.take();
        });
    }

    std::map<std::string, Handler, std::less<>> handlers_;
};

/// On the coordinator's other processes: holds a partition and runs tasks until dismissed. Errors: Run, if the team
/// fails.
[[nodiscard]] Status servePartition(ProcessTeam& team, std::span<const RecognitionRule> user_rules,
                                    const PartitionTasks& tasks);

template <class Answer, class Query>
Result<std::vector<Answer>> PartitionedTrace::runEach(const PartitionTask<Answer, Query>& task,
                                                      const std::vector<Query>& queries) {
    std::vector<Answer> answers;
    if (coordinator_ == nullptr) {
        BUBBLESCOPE_ASSIGN(Answer answer, task.run(local_, queries.front()));
        answers.push_back(std::move(answer));
        return answers;
    }
    std::vector<std::string> requests(1); // this process needs no bytes
    for (std::size_t process = 1; process < queries.size(); ++process) {
        WireWriter request;
        request(std::string(task.name), queries[process]);
        requests.push_back(request.take());
    }
    answers.emplace_back();
    const auto own = [&]() -> Result<std::string> {
        BUBBLESCOPE_ASSIGN(answers.front(), task.run(local_, queries.front()));
        return std::string();
    };
    BUBBLESCOPE_ASSIGN(std::vector<std::string> replies, coordinator_->askEach(std::move(requests), own));
    BUBBLESCOPE_TRY(addAnswers(std::move(replies), answers));
    return answers;
}

template <class Answer, class Query>
Result<std::vector<Answer>> PartitionedTrace::run(const PartitionTask<Answer, Query>& task, const Query& query) {
    std::vector<Answer> answers;
    if (coordinator_ == nullptr) {
        BUBBLESCOPE_ASSIGN(Answer answer, task.run(local_, query));
        if (local_.control().stopRequested()) return cancelledError();
        answers.push_back(std::move(answer));
        return answers;
    }
    WireWriter request;
    request(std::string(task.name), query);
    answers.emplace_back();
    const auto own = [&](std::string_view) -> Result<std::string> {
        BUBBLESCOPE_ASSIGN(answers.front(), task.run(local_, query));
        return std::string();
    };
    BUBBLESCOPE_ASSIGN(std::vector<std::string> replies, coordinator_->ask(request.take(), own));
    BUBBLESCOPE_TRY(addAnswers(std::move(replies), answers));
    return answers;
}

template <class Value, class Query>
Result<std::vector<Value>> PartitionedTrace::extract(const Extractor<Value, Query>& extractor, const Query& query) {
    BUBBLESCOPE_ASSIGN(std::vector<std::vector<Value>> partitions, run(extractor, query));
    return joined(std::move(partitions));
}

} // namespace bubblescope
