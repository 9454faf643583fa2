#include "core/base/visible.h"
#include "core/formats/chrome/writer.h"
#include "core/formats/csv/writer.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/read_trace.h"
#include "core/trace/trace_builder.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

// Random traces are written, read back and compared: everything that a format can represent is read back.
namespace bubblescope {
namespace {

/// Makes traces of several files with nested and overlapping slices, all sorts of args, flows, counters and instants.
class RandomTrace {
public:
    explicit RandomTrace(unsigned seed) : random_(seed) {}

    std::shared_ptr<const Trace> make() {
        const int files = number(1, 3);
        for (int file = 0; file < files; ++file) {
            TraceFile& added = builder_.file(builder_.addFile({fmt::format("file{}", file), "chrome", std::nullopt}));
            if (chance(60)) added.rank = file * 10;
            builder_.setFileOffset(static_cast<std::uint32_t>(file), TimeNs{1'790'000'000'000'000'000});
            const int tracks = number(1, 4);
            for (int track = 0; track < tracks; ++track)
                addTrack(file, track);
            for (int series = number(0, 2); series > 0; --series)
                addCounter(file, series);
        }
        addFlows();
        DiagnosticLog log;
        return builder_.finish(log);
    }

private:
    int number(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
    bool chance(int percent) { return number(1, 100) <= percent; }
    StringId text(std::initializer_list<const char*> texts) {
        return builder_.intern(*(texts.begin() + number(0, static_cast<int>(texts.size()) - 1)));
    }
    StringId name() { return text({"forward", "a \"quoted\" name", "tab\tand\nline", "größer <&>", "a,b;c", "\\"}); }
    StringId category() { return text({"kernel", "cpu_op", "", "user, annotation"}); }

    ArgSetId args() {
        std::vector<StoredArg> all;
        for (const char* const key : {"whole", "real", "flag", "text", "with \"quotes\" and, commas"}) {
            if (chance(60)) continue;
            StoredArg& arg = all.emplace_back();
            arg.name = builder_.intern(key);
            switch (number(0, 3)) {
            case 0: arg.setInt(chance(20) ? INT64_MAX : chance(20) ? INT64_MIN : number(-1000, 1000)); break;
            case 1: arg.setReal(number(-1000, 1000) / 7.0); break;
            case 2: arg.setBool(chance(50)); break;
            default: arg.setText(text({"", "plain", "{\"json\": [1, 2]}", "line\nend", "12", "true"}));
            }
        }
        return builder_.args().add(all);
    }

    void addTrack(int file, int index) {
        const TrackId id = builder_.addTrack(10 + index / 2, 100 + index);
        Track& track = builder_.track(id);
        track.process_name = builder_.intern(fmt::format("process {}.{}", file, index / 2));
        track.thread_name = builder_.intern(fmt::format("thread {}.{}", file, index));
        track.may_overlap = chance(20);
        std::int64_t start = 0;
        for (int slices = number(0, 12); slices > 0; --slices) {
            start += number(0, 3);
            const int duration = chance(15) ? 0 : number(1, 12);
            const SliceId slice = builder_.addSlice({id, TimeNs{start}, TimeNs{duration}, name(), category(), args()});
            slices_.push_back({slice, id, TimeNs{start}});
        }
        for (int instants = number(0, 2); instants > 0; --instants)
            builder_.addInstant({id, TimeNs{number(0, 40)}, name(), category(), args()});
    }

    void addCounter(int file, int series) {
        const StringId id = builder_.intern(fmt::format("counter {}.{}", file, series));
        for (int points = number(1, 4); points > 0; --points)
            builder_.addCounter(chance(50) ? 10 : 55, id, TimeNs{10 - points}, number(-100, 100) / 8.0);
    }

    void addFlows() {
        if (slices_.empty()) return;
        for (std::uint64_t id = 1; id <= 2; ++id) {
            const bool global = chance(50); // else the id means an arrow of each file that has it
            for (int points = number(1, 3); points > 0; --points) {
                const auto& [slice, track, start] =
                    slices_[static_cast<std::size_t>(number(0, static_cast<int>(slices_.size()) - 1))];
                builder_.addFlow({id, start, track, slice, global});
            }
        }
    }

    struct Added {
        SliceId slice;
        TrackId track;
        TimeNs start;
    };
    std::mt19937 random_;
    TraceBuilder builder_;
    std::vector<Added> slices_;
};

std::string argsText(const Trace& trace, ArgSetId set) {
    std::map<std::string, std::string> sorted;
    for (const Arg& arg : trace.args(set)) {
        sorted[arg.name] =
            std::visit([&](const auto& value) { return fmt::format("{} as {}", value, arg.value.index()); }, arg.value);
    }
    std::string out;
    for (const auto& [key, value] : sorted)
        out += fmt::format("{}={};", key, value);
    return out;
}

/// Which names of threads a format keeps. Asynchronous slices have none in Chrome's.
enum class Threads { None, AllButAsynchronous, All };

std::string sliceText(const Trace& trace, SliceId slice, Threads threads = Threads::None) {
    const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
    std::string_view thread;
    if (threads == Threads::All || (threads == Threads::AllButAsynchronous && !track.may_overlap))
        thread = trace.text(track.thread_name);
    constexpr std::string_view kMore = " (more)"; // a row that was split off, read back
    if (thread.ends_with(kMore)) thread.remove_suffix(kMore.size());
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", trace.files()[track.file].rank.value_or(-1),
                       trace.text(track.process_name), thread, trace.name(slice), trace.category(slice),
                       (trace.origin() + trace.start(slice)).count(), (trace.end(slice) - trace.start(slice)).count(),
                       argsText(trace, trace.sliceArgs()[slice]));
}

std::multiset<std::string> slicesOf(const Trace& trace, Threads threads) {
    std::multiset<std::string> all;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice)
        all.insert(sliceText(trace, slice, threads));
    return all;
}

std::multiset<std::string> instantsOf(const Trace& trace) {
    std::multiset<std::string> all;
    for (const Instant& instant : trace.instants()) {
        all.insert(fmt::format("{}|{}|{}|{}|{}", trace.text(trace.tracks()[instant.track].process_name),
                               trace.text(instant.name), trace.text(instant.category),
                               (trace.origin() + instant.time).count(), argsText(trace, instant.args)));
    }
    return all;
}

/// Values in order of time; those of one time in any order.
std::multiset<std::string> countersOf(const Trace& trace) {
    std::multiset<std::string> all;
    for (const CounterSeries& series : trace.counters()) {
        std::multiset<std::string> values;
        for (std::size_t i = 0; i < series.times.size(); ++i)
            values.insert(fmt::format("{}={};", (trace.origin() + series.times[i]).count(), series.values[i]));
        std::string text(trace.text(series.name));
        for (const std::string& value : values)
            text += value;
        all.insert(text);
    }
    return all;
}

/// The slices that each flow touches.
std::multiset<std::multiset<std::string>> flowsOf(const Trace& trace) {
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::multiset<std::string>> by_id;
    for (const FlowPoint& point : trace.flowPoints()) {
        const std::uint32_t file = trace.tracks()[point.track].file;
        if (point.slice != kNoId) by_id[{point.id, point.global ? kNoId : file}].insert(sliceText(trace, point.slice));
    }
    std::multiset<std::multiset<std::string>> all;
    for (const auto& [id, slices] : by_id)
        all.insert(slices);
    return all;
}

std::int64_t countOf(const std::vector<Diagnostic>& problems, std::string_view kind) {
    std::int64_t count = 0;
    for (const Diagnostic& problem : problems)
        count += problem.kind == kind ? problem.count : 0;
    return count;
}

constexpr unsigned kSeeds = 150;

class RoundTrip : public testing::Test {
protected:
    std::shared_ptr<const Trace> back(const std::filesystem::path& file) {
        JobControl control;
        auto read = readTraces({file}, control);
        EXPECT_TRUE(read.ok()) << read.error().text();
        if (!read.ok()) return std::make_shared<const Trace>();
        for (const char* const kind : {"bad-event", "bad-packet", "unknown-name", "unmatched-begin", "unmatched-end"})
            EXPECT_EQ(countOf(read.value().problems, kind), 0) << kind;
        return read.value().trace;
    }
    /// Every third file is packed, in turn.
    [[nodiscard]] std::filesystem::path fileFor(unsigned seed, const std::string& ending) const {
        const char* const packing = seed % 3 == 0 ? "" : seed % 3 == 1 ? ".gz" : ".zst";
        return folder_.path() / ("out" + ending + packing);
    }
    test::ScratchFolder folder_;
};

TEST_F(RoundTrip, PerfettoKeepsEverything) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        const auto trace = RandomTrace(seed).make();
        if (trace->sliceCount() + trace->instants().size() + trace->counters().size() == 0) continue;
        DiagnosticLog log;
        ASSERT_TRUE(perfetto::writeTrace(fileFor(seed, ".pftrace"), *trace, log).ok());
        const auto again = back(fileFor(seed, ".pftrace"));
        EXPECT_EQ(slicesOf(*again, Threads::All), slicesOf(*trace, Threads::All));
        EXPECT_EQ(instantsOf(*again), instantsOf(*trace));
        EXPECT_EQ(countersOf(*again), countersOf(*trace));
        EXPECT_EQ(flowsOf(*again), flowsOf(*trace));
        EXPECT_EQ(again->origin(), trace->origin());
        EXPECT_TRUE(log.entries().empty());
        if (HasFailure()) return;
    }
}

TEST_F(RoundTrip, ChromeKeepsEverythingButTheFlowsItCannotPlace) {
    std::int64_t kept = 0;
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        const auto trace = RandomTrace(seed).make();
        if (trace->sliceCount() + trace->instants().size() + trace->counters().size() == 0) continue;
        DiagnosticLog log;
        ASSERT_TRUE(chrome::writeChrome(fileFor(seed, ".json"), *trace, log).ok());
        const auto again = back(fileFor(seed, ".json"));
        EXPECT_EQ(slicesOf(*again, Threads::AllButAsynchronous), slicesOf(*trace, Threads::AllButAsynchronous));
        EXPECT_EQ(instantsOf(*again), instantsOf(*trace));
        EXPECT_EQ(countersOf(*again), countersOf(*trace));
        const std::int64_t loose = countOf(log.entries(), "loose-flow");
        EXPECT_EQ(static_cast<std::int64_t>(again->flowPoints().size()) + loose,
                  static_cast<std::int64_t>(trace->flowPoints().size()));
        if (loose == 0) {
            EXPECT_EQ(flowsOf(*again), flowsOf(*trace));
            kept += static_cast<std::int64_t>(trace->flowPoints().size());
        }
        EXPECT_EQ(again->origin(), trace->origin());
        if (HasFailure()) return;
    }
    EXPECT_GT(kept, 50) << "most flows can be placed";
}

/// The rows of a CSV file, unquoted.
std::vector<std::vector<std::string>> rowsOf(std::string_view text) {
    std::vector<std::vector<std::string>> rows{{std::string{}}};
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            rows.back().back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && c == ',') {
            rows.back().emplace_back();
        } else if (!quoted && c == '\n') {
            rows.push_back({std::string{}});
        } else {
            rows.back().back() += c;
        }
    }
    rows.pop_back();
    return rows;
}

TEST_F(RoundTrip, CsvHasEverySlice) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        const auto trace = RandomTrace(seed).make();
        const auto file = folder_.path() / "out.csv";
        ASSERT_TRUE(csv::writeSlices(file, *trace).ok());
        const auto rows = rowsOf(test::readAll(file));
        ASSERT_EQ(rows.size(), trace->sliceCount() + 1);
        for (std::size_t row = 1; row < rows.size(); ++row) {
            const auto slice = static_cast<SliceId>(row - 1);
            const Track& track = trace->tracks()[trace->sliceTracks()[slice]];
            const std::vector<std::string> expected{trace->files()[track.file].path.string(),
                                                    std::string(trace->text(track.process_name)),
                                                    std::string(trace->text(track.thread_name)),
                                                    visible(trace->category(slice)),
                                                    visible(trace->name(slice)),
                                                    std::to_string(trace->start(slice).count()),
                                                    std::to_string((trace->end(slice) - trace->start(slice)).count()),
                                                    rows[row][7],
                                                    trace->argsJson(trace->sliceArgs()[slice])};
            EXPECT_EQ(rows[row], expected);
        }
    }
}

} // namespace
} // namespace bubblescope
