#include "core/base/json_scanner.h"
#include "core/formats/chrome/batch_pipeline.h"
#include "core/formats/chrome/event_borders.h"
#include "core/formats/read_trace.h"
#include "tests/unit/formats/packed.h"
#include "tests/unit/formats/trace_bytes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// A bare array of more than the pipeline's least size; `args` gives each event's args.
std::string largeTrace(int events, const std::function<std::string(int)>& args) {
    std::string text = "[\n";
    for (int i = 0; i < events; ++i) {
        text += R"({"ph": "X", "cat": "kernel", "name": "kernel )" + std::to_string(i % 97) +
                R"(", "pid": 0, "tid": 7, "ts": )" + std::to_string(3 * i) + R"(.250, "dur": 2, "args": )" + args(i) +
                "},\n";
    }
    text.erase(text.size() - 2);
    return text + "]";
}

std::string plainArgs(int i) {
    return R"({"correlation": )" + std::to_string(i) + R"(, "grid": [1, 2, 3]})";
}

const Trace& expectWhole(const ReadTraces& read, std::size_t slices) {
    const Trace& trace = *read.trace;
    EXPECT_EQ(trace.sliceCount(), slices);
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.start(slice) != TimeNs{3000} * slice || trace.name(slice) != "kernel " + std::to_string(slice % 97)) {
            ADD_FAILURE() << "slice " << slice << " is '" << trace.name(slice) << "' at " << trace.start(slice).count();
            break;
        }
    }
    return trace;
}

TEST(BatchPipeline, GivesAllEventsInOrderWithTheirArgs) {
    const test::ScratchFolder folder;
    constexpr int kEvents = 40'000;
    const auto read = test::readBytes(folder, largeTrace(kEvents, plainArgs));
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Trace& trace = expectWhole(read.value(), kEvents);
    EXPECT_TRUE(read.value().problems.empty());
    for (SliceId slice = 0; slice < trace.sliceCount(); slice += 1'013)
        EXPECT_EQ(trace.intArg(trace.sliceArgs()[slice], "correlation"), slice);
}

// Args may hold arrays of objects that look like events: a cut between two of them must not count.
TEST(BatchPipeline, IsNotFooledByWhatLooksLikeABorder) {
    const test::ScratchFolder folder;
    constexpr int kEvents = 6'000;
    std::string list = R"({"list": [)";
    for (int i = 0; i < 20; ++i)
        list += R"({"ph": "X", "name": "no event", "ts": 0, "dur": 1, "pid": 0, "tid": 0}, )";
    list += R"({"ph": "X"}], "text": "}, {\"ph\": \"X\"}, {"})";
    const auto read = test::readBytes(folder, largeTrace(kEvents, [&](int) { return list; }));
    ASSERT_TRUE(read.ok()) << read.error().text();
    expectWhole(read.value(), kEvents);
    EXPECT_TRUE(read.value().problems.empty());
}

TEST(BatchPipeline, LosesOnlyTheDamagedEvent) {
    const test::ScratchFolder folder;
    constexpr int kEvents = 40'000;
    std::string text = largeTrace(kEvents, plainArgs);
    const std::size_t place = text.find("\"dur\"", text.size() / 2);
    text[place + 7] = '?'; // inside the braces, which stay balanced
    text.replace(text.find("\"dur\"", text.size() / 3), 8, "\"dur\" \"2");
    const auto read = test::readBytes(folder, text);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_GE(read.value().trace->sliceCount(), static_cast<std::size_t>(kEvents - 2));
    EXPECT_GE(test::countOf(read.value().problems, "bad-event"), 1);
}

TEST(BatchPipeline, ReadsUpToWhereAFileIsCut) {
    const test::ScratchFolder folder;
    const std::string text = largeTrace(40'000, plainArgs);
    const auto read = test::readBytes(folder, std::string_view(text).substr(0, text.size() * 3 / 4));
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_NEAR(static_cast<double>(read.value().trace->sliceCount()), 30'000, 300);
    EXPECT_EQ(test::countOf(read.value().problems, "truncated"), 1);
}

using Fields = std::vector<std::pair<std::string, std::string>>; // JSON values by key

/// A profile as PyTorch writes them: ranges, kernels with args, arrows, counters, names of rows.
std::vector<Fields> profile(int kernels) {
    std::vector<Fields> events;
    const auto number = [](int value) { return std::to_string(value); };
    for (const int tid : {1, 7}) {
        events.push_back({{"ph", R"("M")"},
                          {"ts", "0"},
                          {"name", R"("thread_name")"},
                          {"pid", "0"},
                          {"tid", number(tid)},
                          {"args", R"({"name":"row )" + number(tid) + R"("})"}});
    }
    for (int i = 0; i < kernels; ++i) {
        const std::string shapes =
            R"({"correlation":)" + number(i) + R"(,"Input Dims":[[4,)" + number(i % 7) +
            R"(],[]],"deps":[{"name":"no event","ts":1},{"name":"}, {\"ph\":\"X\"}"}],"External id":)" + number(i) +
            "}";
        events.push_back({{"ph", R"("X")"},
                          {"cat", R"("cpu_op")"},
                          {"name", R"("aten::op )" + number(i % 13) + "\""},
                          {"pid", "0"},
                          {"tid", "1"},
                          {"ts", number(10 * i) + ".125"},
                          {"dur", "4.5"},
                          {"args", shapes}});
        events.push_back({{"ph", R"("X")"},
                          {"cat", R"("kernel")"},
                          {"name", R"("gemm \"}, {\"")"},
                          {"pid", "0"},
                          {"tid", "7"},
                          {"ts", number(10 * i + 5)},
                          {"dur", "3"},
                          {"args", R"({"stream":7,"correlation":)" + number(i) + "}"}});
        for (const char* const phase : {"s", "f"}) {
            events.push_back({{"ph", std::string("\"") + phase + "\""},
                              {"id", number(i)},
                              {"pid", "0"},
                              {"tid", *phase == 's' ? "1" : "7"},
                              {"ts", number(10 * i + (*phase == 's' ? 1 : 5))},
                              {"cat", R"("ac2g")"},
                              {"name", R"("ac2g")"},
                              {"bp", R"("e")"}});
        }
    }
    return events;
}

/// How a file is spaced, and what stands around the events.
struct Layout {
    const char* name;
    const char* head;
    const char* tail;
    const char* open;  ///< after "{" and
    const char* close; ///< before "}"
    const char* colon;
    const char* comma; ///< between fields
    const char* next;  ///< between events
    bool shuffled;     ///< keys, different for each event
    bool names_last;   ///< of rows, which stand first otherwise
};

const std::vector<Layout> kLayouts{
    {"one line", "[", "]", "", "", ":", ",", ",", false, false},
    {"one line in an object", R"({"traceEvents":[)", "]}", "", "", ":", ",", ",", true, false},
    {"a line each", "[\n", "\n]\n", "", "", ": ", ", ", ",\n", false, true},
    {"a line each, shuffled", R"({"schemaVersion":1,"traceEvents":[)", "]}", "", "", ":", ", ", "\n,\n", true, true},
    {"pretty", "{\n  \"traceEvents\": [\n    ", "\n  ]\n}", "\n      ", "\n    ", ": ", ",\n      ", ",\n    ", true,
     false},
    {"pretty, tabs, CRLF", "[\r\n\t", "\r\n]", "\r\n\t\t", "\r\n\t", " : ", ",\r\n\t\t", ",\r\n\t", true, true},
    {"far apart", "[", "]", " ", "                                                                                 ",
     ":", " ,", "\n\n\n,                                                                                      ", true,
     false},
    {"an empty entry first", "[{},", "]", "", "", ":", ",", ",", true, false},
    {"an empty entry last", "[", ",{}]", "", "", ":", ",", ", ", true, true}};

std::string written(std::vector<Fields> events, const Layout& layout, std::mt19937& random) {
    if (layout.names_last) std::rotate(events.begin(), events.begin() + 2, events.end());
    std::string text = layout.head;
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (layout.shuffled) std::shuffle(events[i].begin(), events[i].end(), random);
        text += i == 0 ? "{" : layout.next + std::string("{");
        const char* separator = layout.open;
        for (const auto& [key, value] : events[i]) {
            text.append(separator).append("\"").append(key).append("\"").append(layout.colon).append(value);
            separator = layout.comma;
        }
        text.append(layout.close).append("}");
    }
    return text + layout.tail;
}

std::string described(const Trace& trace) {
    std::string text;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        text += fmt::format("{} {} {} {} {} {}\n", trace.text(trace.tracks()[trace.sliceTracks()[slice]].thread_name),
                            trace.start(slice).count(), trace.end(slice).count(), trace.category(slice),
                            trace.name(slice), trace.argsJson(trace.sliceArgs()[slice]));
    }
    for (const FlowPoint& point : trace.flowPoints()) // ids hold the category's, which depends on what came first
        text += fmt::format("{} {}\n", point.id - trace.flowPoints().front().id, point.slice);
    return text;
}

TEST(BatchPipeline, ReadsEveryLayoutAlike) {
    std::mt19937 random(5);
    const test::ScratchFolder folder;
    const std::vector<Fields> events = profile(7'000);
    std::string expected;
    for (const Layout& layout : kLayouts) {
        const std::string text = written(events, layout, random);
        ASSERT_GT(text.size(), 3 * chrome::BatchPipeline::kPieceBytes) << layout.name;
        const auto read = test::readBytes(folder, text);
        ASSERT_TRUE(read.ok()) << layout.name << ": " << read.error().text();
        EXPECT_TRUE(read.value().problems.empty()) << layout.name;
        const std::string seen = described(*read.value().trace);
        if (expected.empty()) expected = seen;
        EXPECT_EQ(read.value().trace->sliceCount(), 14'000U) << layout.name;
        EXPECT_TRUE(seen == expected) << layout.name;
    }
}

/// A hard one to pack: the file is then so large that it is read while it is unpacked.
void addNoise(std::vector<Fields>& events, std::mt19937& random) {
    for (Fields& event : events) {
        if (event.front().second != R"("X")") continue;
        std::string note;
        for (int i = 0; i < 16; ++i)
            note += std::to_string(random());
        event.push_back({"note", '"' + note + '"'});
    }
}

std::string problemsOf(const std::vector<Diagnostic>& problems) {
    std::string text;
    for (const Diagnostic& problem : problems)
        text += fmt::format("{} {} {}\n", problem.kind, problem.where.text(), problem.count);
    return text;
}

TEST(BatchPipeline, ReadsPackedFilesAsItReadsPlainOnes) {
    std::mt19937 random(9);
    const test::ScratchFolder folder;
    std::vector<Fields> events = profile(3'000);
    addNoise(events, random);
    const auto below = [&random](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    int unreadable = 0;
    for (const Layout& layout : kLayouts) {
        for (int damage = 0; damage < 3; ++damage) {
            std::string text = written(events, layout, random);
            for (int change = 0; change < 3 * damage; ++change) {
                constexpr std::string_view kLetters = "{}[],:\"\\x0 ";
                text[below(text.size())] = kLetters[below(kLetters.size())];
            }
            if (damage == 2) text.resize(text.size() - below(text.size() / 2));
            const auto plain = test::readBytes(folder, text);
            unreadable += plain.ok() ? 0 : 1;
            const std::string_view all(text);
            for (const std::string& packed :
                 {test::gzipped(text), test::zstdPacked(text),
                  test::gzipped(all.substr(0, 1'500'000)) + test::gzipped(all.substr(1'500'000))}) {
                ASSERT_TRUE(damage == 2 || packed.size() > (std::size_t{256} << 10)) << "read while it is unpacked";
                const auto read = test::readBytes(folder, packed);
                ASSERT_EQ(read.ok(), plain.ok()) << layout.name << ", damage " << damage;
                if (!plain.ok()) continue;
                EXPECT_TRUE(described(*read.value().trace) == described(*plain.value().trace))
                    << layout.name << ", damage " << damage;
                EXPECT_EQ(problemsOf(read.value().problems), problemsOf(plain.value().problems)) << layout.name;
            }
        }
    }
    EXPECT_LE(unreadable, 3);
}

using Threads = chrome::BatchPipeline::Threads;

/// The share of a file's bytes that a reader receives in pieces, which are parsed on all cores.
double shareInPieces(const std::string& text, std::size_t piece_bytes, Threads threads = Threads::All,
                     bool stays = false) {
    JsonScanner scanner(text);
    while (scanner.peek() != '[')
        scanner.moveTo(scanner.offset() + 1);
    (void)scanner.accept('[');
    (void)scanner.peek();
    chrome::BatchPipeline pipeline(text, scanner.offset(), piece_bytes, true, threads, stays);
    std::size_t in_pieces = 0;
    do {
        (void)scanner.peek();
        if (const auto* const piece = pipeline.take(scanner.offset())) {
            in_pieces += piece->end - piece->begin;
            scanner.moveTo(piece->end);
        } else if (!scanner.value()) {
            break;
        }
    } while (scanner.accept(','));
    return static_cast<double>(in_pieces) / static_cast<double>(text.size());
}

TEST(BatchPipeline, ParsesEveryLayoutOnAllCores) {
    std::mt19937 random(6);
    const std::vector<Fields> events = profile(3'000);
    for (const Layout& layout : kLayouts) {
        for (const std::size_t piece : {16'384U, 50'000U})
            EXPECT_GT(shareInPieces(written(events, layout, random), piece), 0.94) << layout.name << ", " << piece;
    }
}

// All of it, also the end.
TEST(BatchPipeline, ParsesEveryLayoutInPiecesOnOneThread) {
    std::mt19937 random(6);
    const std::vector<Fields> events = profile(300);
    for (const Layout& layout : kLayouts) {
        const std::string text = written(events, layout, random);
        for (const std::size_t piece : {4'096U, 50'000U, 1'000'000U}) {
            for (const bool stays : {false, true})
                EXPECT_GT(shareInPieces(text, piece, Threads::ThisOne, stays), 0.97) << layout.name << ", " << piece;
        }
    }
}

// The text after the array may look like events, too.
TEST(BatchPipeline, EndsOnOneThreadWhereTheArrayDoes) {
    const std::string events = largeTrace(500, plainArgs);
    const std::string text = "{\"traceEvents\":" + events + ",\"more\":" + largeTrace(900, plainArgs) + "}";
    const std::size_t begin = text.find('{', 1);
    const std::size_t end = text.find(events) + events.size() - 1;
    for (const std::size_t size : {std::size_t{2'000}, text.size()}) {
        chrome::BatchPipeline pipeline(text, begin, size, true, Threads::ThisOne);
        std::size_t read = 0;
        std::size_t at = begin;
        while (const auto* const piece = pipeline.take(at)) {
            read += piece->batch.events.size();
            at = piece->end;
            if (text[at] != ',') break;
            at = text.find('{', at);
        }
        EXPECT_LE(read, 500U) << size;
        EXPECT_GE(read, 490U) << size;
        EXPECT_LE(at, end) << size;
    }
}

/// Offsets and phases of the events that are read of a file, as the reader goes through it.
std::vector<std::pair<std::uint64_t, char>> eventsRead(const std::string& text, std::size_t piece_bytes,
                                                       Threads threads = Threads::All) {
    std::vector<std::pair<std::uint64_t, char>> events;
    const auto add = [&events](const chrome::EventBatch& batch) {
        for (const chrome::Event& event : batch.events)
            events.emplace_back(event.offset, event.phase);
    };
    const std::size_t array = text.find('[');
    if (array == std::string::npos) return events;
    JsonScanner scanner(text);
    scanner.moveTo(array + 1);
    (void)scanner.peek();
    chrome::BatchPipeline pipeline(text, scanner.offset(), piece_bytes, true, threads);
    chrome::EventParser parser;
    while (!scanner.accept(']') && !scanner.atEnd()) {
        const std::size_t begin = scanner.offset();
        if (const auto* const piece = pipeline.take(begin)) {
            add(piece->batch);
            scanner.moveTo(piece->end);
        } else if (const auto entry = scanner.value()) {
            chrome::EventBatch batch;
            if (parser.parse(*entry, begin, batch)) add(batch);
        }
        if (scanner.offset() > begin && (scanner.accept(',') || scanner.peek() == ']')) continue;
        const auto border = pipeline.borderAfter(scanner.offset(), text.size());
        if (!border) break;
        scanner.moveTo(*border);
    }
    return events;
}

// An event with brackets of the wrong kind may be read in a piece, where each is not scanned on its own.
TEST(BatchPipeline, LosesNothingOfDamagedFilesThatIsReadWithoutPieces) {
    std::mt19937 random(8);
    const auto below = [&random](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    const std::vector<Fields> events = profile(60);
    std::size_t read = 0;
    for (int round = 0; round < 300; ++round) {
        std::string text = written(events, kLayouts[static_cast<std::size_t>(round) % kLayouts.size()], random);
        for (std::size_t changes = below(4); changes > 0; --changes) {
            const std::size_t place = below(text.size());
            constexpr std::string_view kLetters = "{}[],:\"\\x0 ";
            if (below(3) == 0)
                text.erase(place, 1 + below(40));
            else
                text[place] = kLetters[below(kLetters.size())];
        }
        const auto expected = eventsRead(text, text.size());
        read += expected.size();
        for (const std::size_t piece : {300U, 1'500U}) {
            for (const Threads threads : {Threads::All, Threads::ThisOne}) {
                ASSERT_TRUE(std::ranges::includes(eventsRead(text, piece, threads), expected))
                    << "round " << round << "\n"
                    << text;
            }
        }
    }
    EXPECT_GT(read, std::size_t{300} * 150);
}

// No border is found for a while: an event with more args than the range that is searched for a border.
TEST(BatchPipeline, GoesOnInPiecesAfterAHugeEvent) {
    const std::vector<Fields> small = profile(1'000);
    std::mt19937 random(7);
    std::string text = written(small, kLayouts[0], random);
    text.pop_back();
    text +=
        R"(,{"ph":"i","name":"snapshot","ts":1,"args":{"bytes":")" + std::string(std::size_t{17} << 20, 'x') + "\"}},";
    text += written(small, kLayouts[0], random).substr(1);
    const double whole = static_cast<double>(text.size());
    EXPECT_GT(shareInPieces(text, 16'384) * whole, (whole - static_cast<double>(17U << 20U)) * 0.9);
}

// Objects that never end and hold what looks like borders: what is read to tell them apart is bounded by the file.
TEST(EventBorders, ReadATextNoMoreThanAFewTimes) {
    std::string text = "[{}";
    for (int i = 0; i < 60'000; ++i)
        text += R"(,{"a":[{})";
    chrome::EventBorders borders(text);
    EXPECT_EQ(borders.after(0, text.size()), std::nullopt);
    EXPECT_LT(borders.bytesLookedAt(), 10 * text.size());
    EXPECT_EQ(borders.after(0, text.size()), std::nullopt);
    EXPECT_LT(borders.bytesLookedAt(), 15 * text.size());
}

TEST(EventBorders, DamagedEventsCountIfTheyBeginLikeOne) {
    const std::string text =
        R"([{"ph":"X"},{"cat":"a" "ph":"X"},{"deep":{"ph":"X"},"name":"a"},{"x":1},{"x":1,"ph":"X"}])";
    chrome::EventBorders borders(text);
    EXPECT_EQ(borders.after(0, text.size()), text.find(R"({"cat")"));
    EXPECT_EQ(borders.after(text.find(R"({"cat")"), text.size()), text.rfind(R"({"x")"));
}

} // namespace
} // namespace bubblescope
