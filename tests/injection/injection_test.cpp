// Each command with one failing call: no crash, no hang, no result that lacks something without a word, no damaged file
// under its final name, a documented exit code, and an error that names what failed. Calls from different places are
// tried first; BUBBLESCOPE_INJECTION=full tries all of these, otherwise some, evenly spread.

#include "tests/injection/call_counts.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bubblescope::injection {
namespace {

namespace fs = std::filesystem;
using test::readAll;
using test::ScratchFolder;
using Words = std::vector<std::string>;

struct Call {
    const char* name;
    std::regex named; ///< what an error says of it
};

const std::vector<Call>& calls() {
    static const std::vector<Call> all{
        {"malloc", std::regex("memory")},
        {"write", std::regex("write|space|written")},
        {"read", std::regex("read|Input/output\\s+error")},
        {"open", std::regex("open|files|create|write|read")},
        {"mmap", std::regex("memory|map")},
        {"accept", std::regex("accept|connect")},
        {"pthread_create", std::regex("thread|temporarily")},
        {"fsync", std::regex("write|Input/output\\s+error")},
        {"rename", std::regex("write|rename|Input/output\\s+error")},
    };
    return all;
}

struct Command {
    const char* name;
    const char* program;   ///< in which calls fail
    Words words;           ///< IN and OUT are folders of files that it reads and writes
    bool measures = false; ///< its output contains times of this run
    int job_code = -1;     ///< of the job that it starts; −1: it starts none
    const char* path = BUBBLESCOPE_PROGRAM;
    /// Calls that do not fail, because Qt itself ends the program or waits forever then, and
    /// nlohmann_json allocates in its destructor.
    std::vector<std::string_view> not_ours = {};
};

std::vector<Command> commands() {
    const std::string data = BUBBLESCOPE_TEST_DATA "/traces/";
    const std::string trace = data + "megatron_pp2.json";
    const Words record{"record", "--out", "OUT/traces", "--", BUBBLESCOPE_TEST_JOB, "exit"};
    return {
        {"Analyze", "bubblescope", {"analyze", trace}},
        {"AnalyzeJson", "bubblescope", {"analyze", trace, "--json"}},
        {"Info", "bubblescope", {"info", trace}},
        {"ConvertToChrome", "bubblescope", {"convert", trace, "OUT/trace.json"}},
        {"ConvertToPerfetto", "bubblescope", {"convert", trace, "OUT/trace.pftrace"}},
        {"Extract", "bubblescope", {"extract", trace, "--out", "OUT/extracts"}},
        {"Record", "bubblescope", record, true, 42},
        {"RecordedJob", "recorded_job", record, true, 42},
        {"Run",
         "bubblescope",
         {"run",   "--schedule", "1f1b",  "--pp",       "2", "--microbatches", "2",      "--forward",
          "100us", "--backward", "200us", "--steps",    "2", "--layers",       "1",      "--width",
          "8",     "--heads",    "1",     "--sequence", "4", "--out",          "OUT/run"},
         true},
        {"Monitor", "bubblescope", {"monitor", "IN/run", "--json", "--patience", "100ms"}},
        {"Simulate",
         "bubblescope",
         {"simulate", "--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--forward", "1ms", "--json"}},
#ifdef BUBBLESCOPE_APP
        {"AppLoad",
         "bubblescope-gui",
         {"--screenshot", "OUT/picture.png", trace},
         true,
         -1,
         BUBBLESCOPE_APP,
         {"malloc", "pthread_create"}},
        {"SessionNotesAndPreferences", "app_files", {"OUT/"}, false, -1, BUBBLESCOPE_APP_FILES, {"malloc"}},
#endif
    };
}

/// How a run ended, and what it left.
struct Outcome {
    int code = -1; ///< −1 if a signal ended it
    int signal = 0;
    bool endless = false;
    std::string out;
    std::string err;
    std::map<std::string, std::string> files; ///< by their name below OUT
};

/// A call that is to fail, or 0 to count them.
struct Injected {
    const char* call = "malloc";
    const char* program = "bubblescope";
    std::uint64_t at = 0;
    bool later_too = false;
};

class Runner {
public:
    explicit Runner(const Command& command) : command_(command) {
        fs::create_directories(folder_.path() / "in");
        if (std::ranges::any_of(command.words, [](const std::string& word) { return word.starts_with("IN"); })) {
            Words words{"run", "--schedule", "1f1b", "--pp",    "2", "--microbatches", "2", "--forward",
                        "1ms", "--backward", "2ms",  "--steps", "3", "--out"};
            words.push_back(folder_.file("in/run"));
            EXPECT_EQ(run(words, nullptr).code, 0);
        }
    }

    [[nodiscard]] Outcome run(const Injected& injected) { return run(command_.words, &injected); }
    /// Calls of the last run.
    [[nodiscard]] const CallCounts& counts() const { return *counts_; }

private:
    Outcome run(const Words& words, const Injected* injected) {
        const fs::path out = folder_.path() / "out";
        fs::remove_all(out);
        fs::create_directories(out);
        const std::string shared = folder_.write("counts", "").string();
        fs::resize_file(shared, sizeof(CallCounts));
        const pid_t child = ::fork();
        if (child == 0) become(words, injected, shared);
        Outcome outcome = end(child);
        outcome.out = readAll(folder_.path() / "stdout");
        outcome.err = readAll(folder_.path() / "stderr");
        for (const auto& file : fs::recursive_directory_iterator(out)) {
            if (file.is_regular_file()) outcome.files[fs::relative(file.path(), out).string()] = readAll(file.path());
        }
        const int file = ::open(shared.c_str(), O_RDONLY | O_CLOEXEC);
        void* const page = ::mmap(nullptr, sizeof(CallCounts), PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        counts_.reset(static_cast<const CallCounts*>(page));
        return outcome;
    }
    [[noreturn]] void become(const Words& words, const Injected* injected, const std::string& shared) const {
        ::setpgid(0, 0);
        const auto redirect = [](const std::string& file, int flags, int to) {
            ::dup2(::open(file.c_str(), flags, 0600), to);
        };
        redirect("/dev/null", O_RDONLY, 0);
        redirect(folder_.file("stdout"), O_WRONLY | O_CREAT | O_TRUNC, 1);
        redirect(folder_.file("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 2);
        if (injected != nullptr) {
            ::setenv("LD_PRELOAD", BUBBLESCOPE_FAIL_LIBRARY, 1);
            ::setenv("BUBBLESCOPE_FAIL_CALL", injected->call, 1);
            ::setenv("BUBBLESCOPE_FAIL_AT", fmt::format("{}{}", injected->at, injected->later_too ? "+" : "").c_str(),
                     1);
            ::setenv("BUBBLESCOPE_FAIL_PROGRAM", injected->program, 1);
            ::unsetenv("DISPLAY");
            ::unsetenv("WAYLAND_DISPLAY");
            ::setenv("BUBBLESCOPE_FAIL_COUNT", shared.c_str(), 1);
        }
        Words line{injected == nullptr ? BUBBLESCOPE_PROGRAM : command_.path};
        for (std::string word : words) {
            if (word.starts_with("IN/")) word = folder_.file("in/" + word.substr(3));
            if (word.starts_with("OUT/")) word = folder_.file("out/" + word.substr(4));
            line.push_back(std::move(word));
        }
        std::vector<char*> pointers;
        for (std::string& word : line)
            pointers.push_back(word.data());
        pointers.push_back(nullptr);
        ::execv(pointers.front(), pointers.data());
        ::_exit(127);
    }
    static Outcome end(pid_t child) {
        constexpr auto kLongest = std::chrono::seconds(30);
        const auto latest = std::chrono::steady_clock::now() + kLongest;
        Outcome outcome;
        int status = 0;
        while (::waitpid(child, &status, WNOHANG) == 0) {
            outcome.endless = std::chrono::steady_clock::now() > latest;
            if (outcome.endless) ::kill(-child, SIGKILL);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
        ::kill(-child, SIGKILL); // what it left running
        return outcome;
    }

    struct Unmap {
        void operator()(const CallCounts* page) const { ::munmap(const_cast<CallCounts*>(page), sizeof(CallCounts)); }
    };
    Command command_;
    ScratchFolder folder_;
    std::unique_ptr<const CallCounts, Unmap> counts_;
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::string withoutNumbers(const std::string& text) {
    static const std::regex numbers(R"([0-9.,]+ *(ns|us|ms|s|µs|%)?)");
    return std::regex_replace(text, numbers, "#");
}

/// A job does the same with and without the recording.
std::string faultOfJob(const Command& command, const Outcome& good, const Outcome& outcome) {
    const bool refused = outcome.out.empty() && (outcome.code == 3 || outcome.code == 4); // before the job began
    if (refused && std::string_view(command.program) == "bubblescope") return {};
    if (outcome.code != command.job_code) return fmt::format("the job's code {} is {}", command.job_code, outcome.code);
    if (outcome.out != good.out) return "the job's output is lost";
    return {};
}

/// The numbers of slices, ranges and losses in the account of a recording.
std::string accountOf(const std::string& err) {
    static const std::regex line(R"(\n +- .* (\d+) +\d+ +\d+ +(\w.*))");
    std::smatch found;
    return std::regex_search(err, found, line) ? found[1].str() + " ranges, lost " + found[2].str() : "none";
}

std::string faultOfSuccess(const Command& command, const Outcome& good, const Outcome& outcome) {
    for (const auto& [name, bytes] : good.files) {
        if (command.measures) continue;
        const auto found = outcome.files.find(name);
        if (found == outcome.files.end()) return name + " is not there, but the exit code is that of a success";
        if (found->second != bytes) return name + " differs, but the exit code is that of a success";
    }
    if (command.job_code >= 0) {
        const bool claims = has(outcome.err, "nothing lost");
        if (claims && accountOf(outcome.err) != accountOf(good.err))
            return "nothing lost, but " + accountOf(outcome.err);
        return {};
    }
    if (const auto picture = outcome.files.find("picture.png"); picture != outcome.files.end())
        return has(picture->second, "IEND") ? std::string() : "half a picture";
    const bool warned = withoutNumbers(outcome.err) != withoutNumbers(good.err) && !outcome.err.empty();
    const bool same = command.measures ? !outcome.out.empty() : outcome.out == good.out;
    if (!same && !warned) return "the output differs, and nothing says so";
    return {};
}

std::string faultOfFailure(const Command& command, const Call& call, const Outcome& good, const Outcome& outcome) {
    if (outcome.code == 2 && has(outcome.err, "cannot open a window")) return {}; // Qt could not begin
    if (outcome.files.contains("picture.png")) return "left a picture";
    if (outcome.code != 3 && outcome.code != 4) return fmt::format("exit code {}", outcome.code);
    if (!std::regex_search(outcome.err, call.named)) return "the error does not name what failed";
    if (command.measures) return {};
    for (const auto& [name, bytes] : outcome.files) {
        const auto whole = good.files.find(name);
        if (whole == good.files.end()) return "left " + name;
        if (whole->second != bytes) return "half-written " + name;
    }
    return {};
}

/// The fault in how it ended; empty if there is none.
std::string fault(const Command& command, const Call& call, const Outcome& good, const Outcome& outcome) {
    if (outcome.endless) return "does not end";
    if (outcome.signal != 0) return fmt::format("signal {}", outcome.signal);
    if (has(outcome.err, "unexpectedly") || has(outcome.err, "terminate called")) return "an unexpected exception";
    if (command.job_code >= 0) {
        if (std::string found = faultOfJob(command, good, outcome); !found.empty()) return found;
    }
    return outcome.code == good.code ? faultOfSuccess(command, good, outcome)
                                     : faultOfFailure(command, call, good, outcome);
}

/// The calls to try: the first from each of at most `most` places.
std::vector<std::uint64_t> chosen(const CallCounts& counts, std::size_t most) {
    const std::size_t places = std::min<std::size_t>(counts.places, CallCounts::kPlaces);
    const std::size_t count = std::min(places, most);
    std::vector<std::uint64_t> found;
    for (std::size_t i = 0; i < count; ++i)
        found.push_back(counts.first_calls[i * places / count]);
    return found;
}

std::size_t mostOf() {
    constexpr std::size_t kInCi = 12;
    const char* const wanted = std::getenv("BUBBLESCOPE_INJECTION"); // NOLINT(concurrency-mt-unsafe)
    if (wanted == nullptr) return kInCi;
    return std::string_view(wanted) == "full" ? CallCounts::kPlaces : std::stoul(wanted);
}

class Injection : public testing::TestWithParam<std::size_t> {};

TEST_P(Injection, EndsWithTheTruth) {
    const Command command = commands()[GetParam()];
    Runner runner(command);
    for (const Call& call : calls()) {
        if (std::ranges::find(command.not_ours, call.name) != command.not_ours.end()) continue;
        Injected injected{call.name, command.program};
        const Outcome good = runner.run(injected);
        ASSERT_TRUE(good.code == std::max(command.job_code, 0)) << good.err;
        const std::vector<std::uint64_t> tried = chosen(runner.counts(), mostOf());
        const std::uint64_t all = runner.counts().calls;
        ASSERT_TRUE(all > 0 || std::string_view(call.name) != "malloc") << "the library was not loaded";
        std::size_t runs = 0;
        std::size_t failed = 0;
        for (const std::uint64_t at : tried) {
            for (const bool later_too : {false, true}) {
                injected.at = at;
                injected.later_too = later_too;
                const Outcome outcome = runner.run(injected);
                ++runs;
                const std::string wrong = fault(command, call, good, outcome);
                if (wrong.empty()) continue;
                ++failed;
                ADD_FAILURE() << command.name << ", " << call.name << ' ' << at << (later_too ? "+" : "") << ": "
                              << wrong << "; code " << outcome.code << '\n'
                              << outcome.err.substr(0, 600);
            }
        }
        fmt::print("| {} | {} | {} calls | {} injected | {} wrong |\n", command.name, call.name, all, runs, failed);
    }
}

INSTANTIATE_TEST_SUITE_P(Commands, Injection, testing::Range(std::size_t{0}, commands().size()),
                         [](const auto& info) { return std::string(commands()[info.param].name); });

} // namespace
} // namespace bubblescope::injection
