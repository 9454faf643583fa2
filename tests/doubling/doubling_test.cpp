// Every command, and the app's load, over inputs of n, 2n and 4n of what can be many: processor time and memory grow by
// less than 2.5 for twice as much, or the program states a limit; and each ends within a second of SIGINT.
// BUBBLESCOPE_DOUBLING=full tries eight times as much.

#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bubblescope::doubling {
namespace {

/// The part of a trace without a pipeline that grows.
enum class Many { Names, Tracks, Args, Flows, Overlaps, Depth, Instants, Counters, Processes, OpenSlices };

struct RunSizes {
    std::size_t steps = 4;
    std::size_t ranks = 2;
    std::size_t microbatches = 2;
};

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

/// A file of rules that finds the ops of madeRun().
std::string rulesFile(const test::ScratchFolder& folder) {
    return folder
        .write("rules.json", R"({"rules":[{"name":"made","ops":[{"name":"{kind}{microbatch}"}],)"
                             R"("kinds":{"F":"F","B":"B"},"args":{"step":"step"},"rank":"process"}]})")
        .string();
}

/// A Chrome trace of a forward and a backward pass per micro-batch, with times that vary by `seed`; its file.
std::string madeRun(const test::ScratchFolder& folder, const std::string& name, const RunSizes& sizes,
                    unsigned seed = 1) {
    return folder.write(name, runText(sizes, seed)).string();
}

std::string madeTrace(const test::ScratchFolder& folder, Many what, std::size_t count) {
    Events events;
    events.slice(1, 1, 0, 1, "first");
    for (std::size_t i = 0; i < count; ++i)
        addOne(events, what, i, count);
    return folder.write("trace.json", events.take()).string();
}

/// `count` copies of a small file of one rank each, in one folder; the folder.
std::string madeFolder(const test::ScratchFolder& folder, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        Events events;
        for (std::size_t k = 0; k < 50; ++k)
            events.slice(i, 1, k * 10, 5, "work");
        folder.write(fmt::format("many/rank{}.json", i), events.take());
    }
    return folder.file("many");
}

using test::ScratchFolder;
using Words = std::vector<std::string>;
/// The words of a command line over n of something, for which it may write files. "APP" in front stands for the app,
/// and the word after "<" is a file to read as standard input.
using MakeCommand = std::function<Words(const ScratchFolder&, std::size_t n)>;

constexpr double kMost = 2.5;

struct Case {
    const char* name;
    std::size_t n;
    MakeCommand command;
};

struct Cost {
    double seconds = std::numeric_limits<double>::infinity(); ///< of the processor
    double megabytes = std::numeric_limits<double>::infinity();
    int exit_code = -1;
};

[[noreturn]] void become(Words words) {
    constexpr rlim_t kSeconds = 120;
    constexpr rlim_t kBytes = rlim_t{8} << 30;
    const rlimit time{kSeconds, kSeconds};
    const rlimit memory{kBytes, kBytes};
    ::setrlimit(RLIMIT_CPU, &time);
    ::setrlimit(RLIMIT_AS, &memory);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor <= 2; ++descriptor)
        ::dup2(nothing, descriptor);
    if (words.size() > 2 && words[words.size() - 2] == "<") {
        ::dup2(::open(words.back().c_str(), O_RDONLY), 0);
        words.resize(words.size() - 2);
    }
    if (words.front() == "APP")
        words.front() = BUBBLESCOPE_APP;
    else
        words.insert(words.begin(), BUBBLESCOPE_PROGRAM);
    std::vector<char*> line;
    for (std::string& word : words)
        line.push_back(word.data());
    line.push_back(nullptr);
    ::execv(line.front(), line.data());
    ::_exit(127);
}

pid_t start(const Words& words) {
    const pid_t child = ::fork();
    if (child == 0) become(words);
    return child;
}

Cost measure(const Words& words) {
    const pid_t child = start(words);
    int status = 0;
    rusage used{};
    ::wait4(child, &status, 0, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return {seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

/// Growth for twice as much, of what grows: what a program takes for nothing is left out. 0 where it is too little to
/// tell.
double growth(double at_n, double at_2n, double at_4n, double least) {
    if (at_4n - at_n < least) return 0;
    return (at_4n - at_2n) / std::max(at_2n - at_n, least / 10);
}

struct Growth {
    double time = 0;
    double memory = 0;
    std::array<Cost, 3> costs;
};

Growth measureGrowth(const Case& tried, std::size_t factor) {
    // Other programs share the processor and its caches: in short times that decides.
    constexpr double kLeastSeconds = 0.4;
    // Below it, whether files are mapped decides, and in large inputs, when a buffer doubles.
    const double least_megabytes = factor > 1 ? 100 : 40;
    constexpr int kTries = 4; // the least counts, because others use this machine too
    Growth found;
    for (int tries = 0; tries < kTries; ++tries) {
        for (std::size_t i = 0; i < 3; ++i) {
            const ScratchFolder folder;
            const Cost cost = measure(tried.command(folder, tried.n * factor << i));
            Cost& least = found.costs[i];
            least = {std::min(least.seconds, cost.seconds), std::min(least.megabytes, cost.megabytes), cost.exit_code};
        }
        const auto& [one, two, four] = found.costs;
        found.time = growth(one.seconds, two.seconds, four.seconds, kLeastSeconds);
        found.memory = growth(one.megabytes, two.megabytes, four.megabytes, least_megabytes);
        if (found.time < kMost && found.memory < kMost) break;
    }
    return found;
}

std::size_t factorOf() {
    const char* const wanted = std::getenv("BUBBLESCOPE_DOUBLING"); // NOLINT(concurrency-mt-unsafe)
    return wanted != nullptr && std::string_view(wanted) == "full" ? 8 : 1;
}

MakeCommand onTrace(Many what, Words before) {
    return [what, before](const ScratchFolder& folder, std::size_t n) {
        Words words = before;
        words.push_back(madeTrace(folder, what, n));
        return words;
    };
}

/// A command on a run whose `size` is n.
MakeCommand onRun(std::size_t RunSizes::*size, Words before, Words after = {}, bool twice = false) {
    return [=](const ScratchFolder& folder, std::size_t n) {
        RunSizes sizes;
        sizes.*size = n;
        Words words = before;
        words.push_back(madeRun(folder, "run.json", sizes));
        if (twice) words.push_back(madeRun(folder, "other.json", sizes, 2));
        words.insert(words.end(), {"--rules", rulesFile(folder)});
        for (const std::string& word : after)
            words.push_back(word == "OUT" ? folder.file("out.pftrace") : word);
        return words;
    };
}

/// A command without files, where "N" stands for n.
MakeCommand counting(Words words) {
    return [words](const ScratchFolder&, std::size_t n) {
        Words line = words;
        std::ranges::replace(line, std::string("N"), std::to_string(n));
        return line;
    };
}

Words starsOnLongNames(const ScratchFolder& folder, std::size_t n) {
    std::string events;
    for (int i = 0; i < 8; ++i)
        events += fmt::format(R"({}{{"ph":"X","pid":1,"tid":1,"ts":{},"dur":5,"name":"{}{}"}})", i == 0 ? "" : ",",
                              i * 10, std::string(n, 'a'), i);
    const std::string trace = folder.write("trace.json", R"({"traceEvents":[)" + events + "]}").string();
    std::string stars;
    for (int i = 0; i < 60; ++i)
        stars += "*a";
    const std::string rules =
        folder.write("rules.json", R"({"rules":[{"name":"stars","ops":[{"name":")" + stars + R"(x","kind":"F"}]}]})")
            .string();
    return {"analyze", trace, "--rules", rules};
}

Words manyRules(const ScratchFolder& folder, std::size_t n) {
    std::string rules;
    for (std::size_t i = 0; i < n; ++i)
        rules += fmt::format(R"({}{{"name":"r{}","ops":[{{"name":"op {} mb{{microbatch}}","kind":"F"}}]}})",
                             i == 0 ? "" : ",", i, i);
    return {"analyze", madeTrace(folder, Many::Names, 500), "--rules",
            folder.write("rules.json", R"({"rules":[)" + rules + "]}").string()};
}

/// Requests of an agent, each of which is answered.
Words manyRequests(const ScratchFolder& folder, std::size_t n) {
    std::string lines = R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",)"
                        R"("capabilities":{},"clientInfo":{"name":"test","version":"1"}}})"
                        "\n";
    for (std::size_t i = 1; i <= n; ++i)
        lines += fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/list"}})"
                             "\n",
                             i);
    return {"mcp", "<", folder.write("requests", lines).string()};
}

/// A file of an order with n micro-batches.
Words orderFile(const ScratchFolder& folder, std::size_t n) {
    const std::string file = folder.file("order.json");
    const pid_t child =
        start({"schedule", "--schedule", "1f1b", "--pp", "4", "--microbatches", std::to_string(n), "--out", file});
    ::waitpid(child, nullptr, 0);
    return {"validate", file, "--communicators", "one"};
}

/// A run of n steps.
Words shortSteps(const ScratchFolder& folder, std::size_t n) {
    Words words{"run", "--schedule", "1f1b", "--pp",    "2", "--microbatches", "2", "--forward",  "1us", "--backward",
                "2us", "--layers",   "1",    "--width", "8", "--heads",        "1", "--sequence", "4"};
    words.insert(words.end(), {"--steps", std::to_string(n), "--out", folder.file("run")});
    return words;
}

Words monitorOfAFinishedRun(const ScratchFolder& folder, std::size_t n) {
    ::waitpid(start(shortSteps(folder, n)), nullptr, 0);
    return {"monitor", folder.file("run")};
}

/// The app with a run of n steps, or two of them.
MakeCommand app(bool compared) {
    return [compared](const ScratchFolder& folder, std::size_t n) {
        RunSizes sizes;
        sizes.steps = n;
        Words words{"APP",     "--screenshot",    folder.file("picture.png"),
                    "--rules", rulesFile(folder), madeRun(folder, "run.json", sizes)};
        if (compared) words.insert(words.end(), {"--compare", madeRun(folder, "other.json", sizes, 2)});
        return words;
    };
}

Words layerTimes(const ScratchFolder& folder, std::size_t n) {
    std::string csv = "layer,forward,backward\n";
    for (std::size_t i = 0; i < n; ++i)
        csv += fmt::format("l{},{}us,{}us\n", i, 100 + i % 7, 200 + i % 5);
    return {"partition", "--layer-times", folder.write("times.csv", csv).string(), "--pp", "4"};
}

std::vector<Case> cases() {
    using R = RunSizes;
    const Words plan{"--schedule", "1f1b", "--forward", "1ms", "--backward", "2ms"};
    const auto planned = [&](Words words) {
        words.insert(words.begin() + 1, plan.begin(), plan.end());
        return counting(words);
    };
    std::vector<Case> all{
        {"analyze, names", 12'000, onTrace(Many::Names, {"analyze"})},
        {"analyze, tracks", 6'000, onTrace(Many::Tracks, {"analyze"})},
        {"analyze, processes", 3'000, onTrace(Many::Processes, {"analyze"})},
        {"analyze, args", 12'000, onTrace(Many::Args, {"analyze"})},
        {"analyze, flows", 12'000, onTrace(Many::Flows, {"analyze"})},
        {"analyze, overlapping slices", 6'000, onTrace(Many::Overlaps, {"analyze"})},
        {"analyze, nested slices", 12'000, onTrace(Many::Depth, {"analyze"})},
        {"analyze, instants", 24'000, onTrace(Many::Instants, {"analyze"})},
        {"analyze, counters", 12'000, onTrace(Many::Counters, {"analyze"})},
        {"analyze, open slices", 12'000, onTrace(Many::OpenSlices, {"analyze"})},
        {"analyze --json, names", 12'000, onTrace(Many::Names, {"analyze", "--json"})},
        {"info, tracks", 12'000, onTrace(Many::Tracks, {"info"})},
        {"info, files", 100,
         [](const ScratchFolder& f, std::size_t n) {
             return Words{"info", madeFolder(f, n)};
         }},
        {"analyze, files", 100,
         [](const ScratchFolder& f, std::size_t n) {
             return Words{"analyze", madeFolder(f, n)};
         }},
        {"analyze, steps", 2'000, onRun(&R::steps, {"analyze"})},
        {"analyze, ranks", 64, onRun(&R::ranks, {"analyze"})},
        {"analyze, micro-batches", 1'000, onRun(&R::microbatches, {"analyze"})},
        {"analyze --json, steps", 1'000, onRun(&R::steps, {"analyze"}, {"--json"})},
        {"diff, steps", 1'000, onRun(&R::steps, {"diff"}, {}, true)},
        {"diff, ranks", 16, onRun(&R::ranks, {"diff"}, {}, true)},
        {"diff, micro-batches", 100, onRun(&R::microbatches, {"diff"}, {}, true)},
        {"whatif, steps", 1'000, onRun(&R::steps, {"whatif"})},
        {"whatif, micro-batches", 250, onRun(&R::microbatches, {"whatif"})},
        {"fill, micro-batches", 1'000, planned({"fill", "--pp", "4", "--microbatches", "N", "--optimizer", "1ms"})},
        {"convert, steps", 4'000,
         [](const ScratchFolder& folder, std::size_t n) {
             R sizes;
             sizes.steps = n;
             return Words{"convert", madeRun(folder, "run.json", sizes), folder.file("out.pftrace")};
         }},
        {"analyze, length of names under a rule of stars", 2'000, starsOnLongNames},
        {"analyze, rules", 250, manyRules},
        {"simulate, micro-batches", 4'000, planned({"simulate", "--pp", "4", "--microbatches", "N"})},
        {"simulate, ranks", 128, planned({"simulate", "--pp", "N", "--microbatches", "64"})},
        {"schedule, micro-batches", 4'000, planned({"schedule", "--pp", "4", "--microbatches", "N", "--csv"})},
        {"memory, micro-batches", 4'000,
         counting({"memory", "--preset", "gpt2-small", "--schedule", "1f1b", "--pp", "4", "--microbatches", "N"})},
        {"search, micro-batches (within its time limit)", 1'000,
         counting({"search", "--pp", "4", "--microbatches", "N", "--forward", "1ms", "--rounds", "0", "--time-limit",
                   "300ms"})},
        {"partition, layers", 100, layerTimes},
        {"advise, steps", 4'000, onRun(&R::steps, {"advise"}, {"--search-time", "100ms"})},
        {"extract, steps", 4'000, onRun(&R::steps, {"extract"}, {"--out", "OUT"})},
        {"query, steps", 4'000,
         [](const ScratchFolder& folder, std::size_t n) {
             R sizes;
             sizes.steps = n;
             return Words{"query", madeRun(folder, "run.json", sizes), "SELECT rank, sum(dur) FROM op GROUP BY rank",
                          "--rules", rulesFile(folder)};
         }},
        {"query, names", 40'000,
         [](const ScratchFolder& folder, std::size_t n) {
             return Words{"query", madeTrace(folder, Many::Names, n), "SELECT name, dur FROM slice"};
         }},
        {"mcp, requests", 5'000, manyRequests},
        {"run, steps", 2'000, shortSteps},
        {"monitor, steps", 4'000, monitorOfAFinishedRun},
        {"plan, devices", 64,
         counting({"plan", "--preset", "gpt2-small", "--gpu", "h100", "--global-batch", "4096", "--gpus", "N"})},
        {"plan, sequences", 512,
         counting({"plan", "--preset", "gpt2-small", "--gpu", "h100", "--gpus", "8", "--global-batch", "N"})},
        {"overlap, micro-batches", 2'000,
         counting({"overlap", "--preset", "llama3-8b", "--pp", "4", "--microbatches", "N"})},
        {"formula, micro-batches", 4'000, planned({"formula", "--pp", "4", "--microbatches", "N"})},
        {"validate, micro-batches", 8'000, orderFile},
        {"schedule --lower, micro-batches", 16'000,
         planned({"schedule", "--pp", "4", "--microbatches", "N", "--lower", "torch", "--csv"})},
        {"the app's load, steps", 8'000, app(false)},
        {"the app's comparison, steps", 4'000, app(true)},
    };
    if (std::string_view(BUBBLESCOPE_APP).empty()) all.resize(all.size() - 2); // built without it
    return all;
}

class Doubling : public testing::TestWithParam<std::size_t> {};

TEST_P(Doubling, CostsLessThanTwoAndAHalfTimes) {
    const Case tried = cases()[GetParam()];
    const std::size_t factor = factorOf();
    const Growth found = measureGrowth(tried, factor);
    const auto& [one, two, four] = found.costs;
    fmt::print("| {} | {} | {:.2f}, {:.2f}, {:.2f} s | {:.0f}, {:.0f}, {:.0f} MB | {:.2f} | {:.2f} |\n", tried.name,
               tried.n * factor, one.seconds, two.seconds, four.seconds, one.megabytes, two.megabytes, four.megabytes,
               found.time, found.memory);
    for (const Cost& cost : found.costs)
        EXPECT_TRUE(cost.exit_code == 0 || cost.exit_code == 3) << tried.name << " ended with " << cost.exit_code;
    EXPECT_LT(found.time, kMost) << tried.name;
    EXPECT_LT(found.memory, kMost) << tried.name;
}

TEST_P(Doubling, EndsWithinASecondOfAnInterrupt) {
    using Clock = std::chrono::steady_clock;
    using namespace std::chrono_literals;
    const Case tried = cases()[GetParam()];
    const ScratchFolder folder;
    const Words words = tried.command(folder, tried.n * factorOf() * 4);
    auto least = Clock::duration::max();
    for (int tries = 0; tries < 3 && least > 1s; ++tries) { // others use this machine too
        const pid_t child = start(words);
        std::this_thread::sleep_for(200ms * (tries + 1));
        ::kill(child, SIGINT);
        const auto asked = Clock::now();
        ::waitpid(child, nullptr, 0);
        least = std::min(least, Clock::now() - asked);
    }
    EXPECT_LE(least, 1s) << tried.name;
}

INSTANTIATE_TEST_SUITE_P(Commands, Doubling, testing::Range(std::size_t{0}, cases().size()));

} // namespace
} // namespace bubblescope::doubling
