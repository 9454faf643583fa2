#include "tests/doubling/made_traces.h"

#include <fmt/format.h>

#include <iterator>
#include <random>

namespace bubblescope::doubling {
namespace {

class Events {
public:
    template <class... Parts>
    void add(fmt::format_string<Parts...> event, Parts&&... parts) {
        text_ += empty_ ? "\n" : ",\n";
        empty_ = false;
        fmt::format_to(std::back_inserter(text_), event, std::forward<Parts>(parts)...);
    }
    void slice(std::size_t pid, std::size_t tid, std::size_t start, std::size_t length, const std::string& name,
               const std::string& args = "{}") {
        add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","args":{}}})", pid, tid, start, length, name,
            args);
    }
    [[nodiscard]] std::string take() { return std::move(text_) + "\n]}\n"; }

private:
    std::string text_ = R"({"traceEvents":[)";
    bool empty_ = true;
};

std::string runText(const RunSizes& sizes, unsigned seed) {
    constexpr std::size_t kOp = 20;
    std::mt19937 random(seed);
    Events events;
    std::size_t time = 0;
    for (std::size_t step = 0; step < sizes.steps; ++step) {
        const std::string args = fmt::format(R"({{"step":{}}})", step);
        for (std::size_t turn = 0; turn < 2 * sizes.microbatches; ++turn) {
            const bool forward = turn < sizes.microbatches;
            const std::string name = fmt::format("{}{}", forward ? 'F' : 'B', turn % sizes.microbatches);
            for (std::size_t rank = 0; rank < sizes.ranks; ++rank) {
                const std::size_t place = forward ? rank : sizes.ranks - 1 - rank;
                events.slice(rank, 1, time + place * kOp, kOp - 2 - random() % 5, name, args);
            }
            time += kOp;
            if (turn + 1 == sizes.microbatches) time += sizes.ranks * kOp;
        }
        time += sizes.ranks * kOp;
    }
    return events.take();
}

void addOne(Events& events, Many what, std::size_t i, std::size_t count) {
    constexpr std::size_t kTime = 10;
    const std::size_t time = i * kTime;
    switch (what) {
    case Many::Names: return events.slice(1, 1, time, 5, fmt::format("name {}", i));
    case Many::Tracks: return events.slice(1, i, time, 5, "work");
    case Many::Processes: return events.slice(i, 1, time, 5, "work");
    case Many::Args: return events.slice(1, 1, time, 5, "work", fmt::format(R"({{"a{}":"value {}","b":{}}})", i, i, i));
    case Many::Overlaps: return events.slice(1, 1, i, count, "work");
    case Many::Depth: return events.slice(1, 1, i, 2 * (count - i) + 1, "work");
    case Many::Flows:
        events.slice(1, i % 2, time, 5, "work");
        return events.add(R"({{"ph":"{}","pid":1,"tid":{},"ts":{},"id":{},"name":"flow","cat":"c"}})",
                          i % 2 == 0 ? 's' : 'f', i % 2, time + 1, i / 2);
    case Many::Instants:
        return events.add(R"({{"ph":"i","pid":1,"tid":1,"ts":{},"name":"at {}","s":"t"}})", time, i % 9);
    case Many::Counters:
        return events.add(R"({{"ph":"C","pid":1,"ts":{},"name":"series {}","args":{{"value":{}}}}})", time, i, i);
    case Many::OpenSlices: return events.add(R"({{"ph":"B","pid":1,"tid":1,"ts":{},"name":"open"}})", time);
    }
}

} // namespace

std::string rulesFile(const test::ScratchFolder& folder) {
    return folder
        .write("rules.json", R"({"rules":[{"name":"made","ops":[{"name":"{kind}{microbatch}"}],)"
                             R"("kinds":{"F":"F","B":"B"},"args":{"step":"step"},"rank":"process"}]})")
        .string();
}

std::string madeRun(const test::ScratchFolder& folder, const std::string& name, const RunSizes& sizes, unsigned seed) {
    return folder.write(name, runText(sizes, seed)).string();
}

std::string madeTrace(const test::ScratchFolder& folder, Many what, std::size_t count) {
    Events events;
    events.slice(1, 1, 0, 1, "first");
    for (std::size_t i = 0; i < count; ++i)
        addOne(events, what, i, count);
    return folder.write("trace.json", events.take()).string();
}

std::string madeFolder(const test::ScratchFolder& folder, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        Events events;
        for (std::size_t k = 0; k < 50; ++k)
            events.slice(i, 1, k * 10, 5, "work");
        folder.write(fmt::format("many/rank{}.json", i), events.take());
    }
    return folder.file("many");
}

} // namespace bubblescope::doubling
