#include "core/formats/source/source_files.h"

#include "core/trace/args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// Returns the wanted number, or the next free one.
class FreeNumbers {
public:
    std::int64_t take(std::int64_t wanted) {
        if (taken_.insert(wanted).second) return wanted;
        while (!taken_.insert(next_).second)
            ++next_;
        return next_;
    }

private:
    std::set<std::int64_t> taken_;
    std::int64_t next_ = 1'000'000; // above most process ids, so that an invented number is recognisable
};

} // namespace

RowNumbers::RowNumbers(const Trace& trace) {
    using Process = std::tuple<std::uint32_t, std::int64_t, StringId>;
    FreeNumbers pids;
    std::map<Process, std::int64_t> pid_of;
    std::map<std::int64_t, FreeNumbers> tids;
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        if (track.spilled_from != kNoId) {
            rows_.push_back(rows_[track.spilled_from]);
            continue;
        }
        const auto [known, is_new] = pid_of.try_emplace({track.file, track.pid, track.process_name}, 0);
        if (is_new) {
            known->second = pids.take(track.pid);
            processes_.emplace_back(track.file, track.pid, known->second);
        }
        rows_.push_back({known->second, tids[known->second].take(track.tid)});
    }
    std::sort(processes_.begin(), processes_.end());
}

std::int64_t RowNumbers::process(std::uint32_t file, std::int64_t pid) const {
    const auto known = std::lower_bound(processes_.begin(), processes_.end(), std::tuple(file, pid, INT64_MIN));
    if (known == processes_.end() || std::get<0>(*known) != file || std::get<1>(*known) != pid) return pid;
    return std::get<2>(*known);
}

std::vector<TrackId> tracksByRank(const Trace& trace) {
    std::vector<TrackId> tracks(trace.tracks().size());
    std::iota(tracks.begin(), tracks.end(), TrackId{0});
    std::ranges::stable_sort(tracks, {}, [&trace](TrackId id) {
        const auto rank = trace.files()[trace.tracks()[id].file].rank;
        return std::tuple(!rank, rank.value_or(0), trace.tracks()[id].process_order);
    });
    return tracks;
}

std::string sourceLabel(std::uint32_t number, std::optional<std::int32_t> rank) {
    return rank ? fmt::format("file {}, rank {}", number, *rank) : fmt::format("file {}", number);
}

SourceFiles::Row rowOf(const Track& track) {
    SourceFiles::Row row;
    if (track.spilled_from != kNoId) row.spilled_from = track.spilled_from;
    row.tid = track.tid;
    row.unnamed = track.thread_name == 0;
    row.may_overlap = track.may_overlap;
    return row;
}

SourceFiles sourceFilesOf(const Trace& trace, const RowNumbers& rows, std::span<const Diagnostic> problems) {
    SourceFiles sources;
    sources.files.assign(trace.files().begin(), trace.files().end());
    sources.problems.assign(problems.begin(), problems.end());
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        sources.processes.try_emplace(rows.of(id).pid, SourceFiles::Process{track.file, track.pid});
    }
    for (const CounterSeries& series : trace.counters())
        sources.processes.try_emplace(rows.process(series.file, series.pid),
                                      SourceFiles::Process{series.file, series.pid});
    return sources;
}

namespace {

/// A JSON object or array with optional members.
class JsonList {
public:
    explicit JsonList(char open) : out_(1, open), close_(open == '{' ? '}' : ']') {}

    void item(std::string_view json) {
        if (out_.size() > 1) out_ += ',';
        out_ += json;
    }
    void member(std::string_view name, std::string_view json) { item(fmt::format("\"{}\":{}", name, json)); }
    void text(std::string_view name, std::string_view text) {
        if (!text.empty()) member(name, quotedJson(text));
    }
    template <class Number>
    void number(std::string_view name, const std::optional<Number>& number) {
        if (number) member(name, fmt::to_string(*number));
    }
    void flag(std::string_view name, bool set) {
        if (set) member(name, "true");
    }
    [[nodiscard]] std::string take() { return std::move(out_) + close_; }

private:
    std::string out_;
    char close_;
};

/// `alone`: the trace has no other file, so this one needs no name.
std::string encoded(const TraceFile& file, bool alone) {
    JsonList object('{');
    object.text("format", file.format);
    object.number("rank", file.rank);
    object.number("named_rank", file.named_rank);
    object.text("host", file.host);
    object.text("process", file.process.empty() && !alone ? file.path.filename().string() : file.process);
    object.number("world_size", file.world_size);
    JsonList groups('[');
    for (const ProcessGroup& group : file.groups)
        groups.item(fmt::format(R"({{"description":{},"ranks":[{}]}})", quotedJson(group.description),
                                fmt::join(group.ranks, ",")));
    if (!file.groups.empty()) object.member("groups", groups.take());
    return object.take();
}

std::string encoded(TrackId id, const SourceFiles::Row& row) {
    JsonList object('{');
    object.number("row", std::optional(id));
    object.number("of", row.spilled_from);
    if (row.tid != 0) object.number("tid", std::optional(row.tid));
    object.flag("unnamed", row.unnamed);
    object.flag("overlaps", row.may_overlap);
    return object.take();
}

} // namespace

std::string encoded(const SourceFiles& sources) {
    JsonList files('[');
    for (const TraceFile& file : sources.files)
        files.item(encoded(file, sources.files.size() == 1));
    JsonList processes('[');
    for (const auto& [number, process] : sources.processes)
        processes.item(fmt::format(R"({{"number":{},"file":{},"pid":{}}})", number, process.file, process.pid));
    JsonList rows('[');
    for (const auto& [id, row] : sources.rows)
        rows.item(encoded(id, row));
    JsonList problems('[');
    for (const Diagnostic& problem : sources.problems)
        problems.item(fmt::format(R"({{"kind":{},"count":{},"where":{},"message":{}}})", quotedJson(problem.kind),
                                  problem.count, quotedJson(problem.where.text()), quotedJson(problem.message.text())));
    JsonList object('{');
    object.member("files", files.take());
    object.member("processes", processes.take());
    if (!sources.rows.empty()) object.member("rows", rows.take());
    if (!sources.problems.empty()) object.member("problems", problems.take());
    return object.take();
}

namespace {

using Json = simdjson::dom::element;

std::string textIn(Json object, const char* name) {
    std::string_view text;
    return object[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

template <class Number>
std::optional<Number> numberIn(Json object, const char* name) {
    std::int64_t number = 0;
    if (object[name].get(number) != simdjson::SUCCESS || !std::in_range<Number>(number)) return std::nullopt;
    return static_cast<Number>(number);
}

bool flagIn(Json object, const char* name) {
    bool flag = false;
    return object[name].get(flag) == simdjson::SUCCESS && flag;
}

/// Calls `take` for each entry of a list, which may be absent. Returns how many are not objects, or were not taken.
template <class Take>
std::int64_t eachIn(Json object, const char* name, const Take& take) {
    simdjson::dom::array list;
    if (object[name].get(list) != simdjson::SUCCESS) return 0;
    return std::count_if(list.begin(), list.end(), [&take](Json item) { return !item.is_object() || !take(item); });
}

std::optional<std::int32_t> rankIn(Json object, const char* name) {
    const auto rank = numberIn<std::int32_t>(object, name);
    return rank && *rank >= 0 ? rank : std::nullopt;
}

TraceFile fileIn(Json object, std::int64_t& damaged) {
    TraceFile file;
    file.format = textIn(object, "format");
    file.rank = rankIn(object, "rank");
    file.named_rank = rankIn(object, "named_rank");
    file.host = textIn(object, "host");
    file.process = textIn(object, "process");
    file.world_size = rankIn(object, "world_size");
    damaged += eachIn(object, "groups", [&](Json group) {
        ProcessGroup& added = file.groups.emplace_back();
        added.description = textIn(group, "description");
        simdjson::dom::array ranks;
        if (group["ranks"].get(ranks) != simdjson::SUCCESS) return false;
        for (const Json item : ranks) {
            std::int64_t rank = 0;
            if (item.get(rank) == simdjson::SUCCESS) added.ranks.push_back(rank);
        }
        return true;
    });
    return file;
}

/// Nothing if a field that every problem has is missing.
std::optional<Diagnostic> problemIn(Json object) {
    const Diagnostic problem{textIn(object, "kind"), numberIn<std::int64_t>(object, "count").value_or(0),
                             textIn(object, "where"), textIn(object, "message")};
    if (problem.kind.empty() || problem.count < 1 || problem.where.empty() || problem.message.empty())
        return std::nullopt;
    return problem;
}

} // namespace

std::optional<SourceFiles> decodedSourceFiles(std::string_view json, const Sentence& where, DiagnosticLog& log) {
    constexpr std::size_t kMostProblems = 64; // more than the readers of one file report together
    simdjson::dom::parser parser;
    Json object;
    SourceFiles sources;
    std::int64_t damaged = 0;
    if (parser.parse(simdjson::padded_string(json)).get(object) == simdjson::SUCCESS && object.is_object()) {
        damaged += eachIn(object, "files", [&](Json file) {
            sources.files.push_back(fileIn(file, damaged));
            return true;
        });
        damaged += eachIn(object, "processes", [&](Json process) {
            const auto number = numberIn<std::int64_t>(process, "number");
            const auto file = numberIn<std::uint32_t>(process, "file");
            if (!number || !file || *file >= sources.files.size()) return false;
            sources.processes[*number] = {*file, numberIn<std::int64_t>(process, "pid").value_or(*number)};
            return true;
        });
        damaged += eachIn(object, "rows", [&](Json row) {
            const auto id = numberIn<TrackId>(row, "row");
            if (!id) return false;
            sources.rows[*id] = {numberIn<TrackId>(row, "of"), numberIn<std::int64_t>(row, "tid").value_or(0),
                                 flagIn(row, "unnamed"), flagIn(row, "overlaps")};
            return true;
        });
        damaged += eachIn(object, "problems", [&](Json item) {
            auto problem = problemIn(item);
            if (!problem || sources.problems.size() == kMostProblems) return false;
            sources.problems.push_back(std::move(*problem));
            return true;
        });
    }
    if (sources.files.empty()) damaged = std::max<std::int64_t>(damaged, 1);
    if (damaged > 0) log.add("damaged-sources", where, say("the file's description of its origin is corrupt"), damaged);
    return sources.files.empty() ? std::nullopt : std::optional(std::move(sources));
}

void assignSourceFiles(const SourceFiles& sources, TraceBuilder& builder) {
    const std::uint32_t whole = builder.currentFile();
    const TraceFile container = builder.file(whole);
    const auto fileOf = [&](std::uint32_t number) { return whole + number; };
    for (std::uint32_t number = 0; number < sources.files.size(); ++number) {
        TraceFile file = sources.files[number];
        file.path = container.path;
        file.offset = container.offset;
        file.metadata = number == 0 ? container.metadata : std::string();
        file.is_converted = true;
        if (number == 0) {
            builder.file(whole) = std::move(file);
        } else {
            builder.setFileOffset(builder.addFile(std::move(file)), container.offset);
        }
    }
    const auto assign = [&](std::uint32_t& file, std::int64_t& pid) {
        const auto process = sources.processes.find(pid);
        if (file != whole || process == sources.processes.end()) return;
        file = fileOf(process->second.file);
        pid = process->second.pid;
    };
    for (TrackId id = 0; id < builder.trackCount(); ++id)
        assign(builder.track(id).file, builder.track(id).pid);
    for (CounterSeries& series : builder.counters())
        assign(series.file, series.pid);
    builder.file(whole).problems = sources.problems;
}

} // namespace bubblescope
