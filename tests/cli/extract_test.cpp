// `extract`: commands give the same output for extracts and for the traces.

#include "core/analysis/anomalies/slice_evidence.h"
#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/devices/device_summary.h"
#include "core/analysis/extract_file.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/file_extract.h"
#include "core/recognise/extractors.h"
#include "tests/bench/kineto_like.h"
#include "tests/cli/program.h"
#include "tests/support/extracts.h"
#include "tests/support/made_inputs.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;
using test::replaced;
using test::runProgram;
using testing::HasSubstr;
using Words = std::vector<std::string>;

/// The output of a command, with one name for the traces and their extracts.
std::string said(const Words& command, const fs::path& input, const fs::path& raw, const fs::path& extracts) {
    Words words{command.front(), input.string()};
    words.insert(words.end(), command.begin() + 1, command.end());
    const test::ProgramResult result = runProgram(words);
    std::string text = fmt::format("exit {}\n{}\n--- stderr\n{}", result.exit_code, result.out, result.err);
    std::istringstream words_of(
        test::withoutPlaces(std::move(text), raw, extracts)); // longer paths break lines elsewhere
    std::string unbroken;
    for (std::string word; words_of >> word;)
        unbroken += word + ' ';
    return unbroken;
}

/// Where two texts differ first.
std::string difference(const std::string& a, const std::string& b) {
    const auto at = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
    const std::size_t from = at < 100 ? 0 : at - 100;
    return fmt::format("at {}:\n{}\nbut the extract\n{}", at, a.substr(from, 300), b.substr(from, 300));
}

/// For a file or a folder, which may contain no trace.
void expectEqualAnswers(const fs::path& raw) {
    const test::ScratchFolder scratch;
    const fs::path out = scratch.file("extracts");
    const fs::path extract = test::extractAll(raw, out);
    if (extract.empty()) return;
    const fs::path home = fs::is_directory(raw) ? raw : raw.parent_path();
    for (const Words& command : {Words{"analyze", "--json"}, Words{"analyze"}, Words{"whatif", "--json"}}) {
        const std::string of_raw = said(command, raw, home, out);
        const std::string of_extract = said(command, extract, home, out);
        EXPECT_TRUE(of_raw == of_extract) << raw << ' ' << command.front() << ' ' << difference(of_raw, of_extract);
    }
}

/// Its files one by one, and each of its folders.
void expectEqualAnswersBelow(const fs::path& folder) {
    expectEqualAnswers(folder);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".md") expectEqualAnswers(entry.path());
    }
}

TEST(Extract, AnswersAsOurTracesDo) {
    for (const auto& entry : fs::directory_iterator(test::dataDir() / "traces"))
        expectEqualAnswers(entry.path());
    const test::ScratchFolder made;
    for (const auto& entry : fs::directory_iterator(test::dataDir() / "traces")) {
        const std::string text = entry.is_regular_file() ? test::readAll(entry.path()) : std::string{};
        if (entry.path().extension() == ".sql")
            expectEqualAnswers(
                made.write(entry.path().stem().string() + ".sqlite", test::databaseOf(test::ScratchFolder{}, text)));
        if (entry.path().extension() == ".packets")
            expectEqualAnswers(made.write(entry.path().stem().string() + ".pftrace", test::PacketText::bytes(text)));
    }
}

TEST(Extract, AnswersAsOurRecordingsDo) {
    for (const auto& collection : fs::directory_iterator(test::dataDir() / "recordings")) {
        if (!collection.is_directory()) continue;
        for (const auto& entry : fs::directory_iterator(collection))
            if (entry.path().extension() != ".md") expectEqualAnswers(entry.path());
    }
}

TEST(ExtractOfOutsideTraces, AnswersAsTheyDo) {
    for (const char* const collection :
         {"bytedance-straggler", "hta", "kineto", "megatronapp-pp4", "nsys-ai", "param-dlrm-8rank", "tracelens"}) {
        BUBBLESCOPE_NEED_TRACES(collection);
        expectEqualAnswersBelow(test::realTrace(collection));
    }
}

TEST(Extract, OfTwoRunsComparesAsTheyDo) {
    const fs::path a = test::dataDir() / "recordings/torch-pp-cpu-gloo/1f1b_pp4_mb8";
    const fs::path b = test::dataDir() / "recordings/torch-pp-cpu-gloo/interleaved1f1b_pp4_mb8_v2";
    const test::ScratchFolder scratch;
    for (const fs::path& run : {a, b}) {
        const auto extracted = runProgram({"extract", run.string(), "--out", scratch.file(run.filename().string())});
        ASSERT_EQ(extracted.exit_code, 0) << extracted.err;
    }
    const auto said = [&](const fs::path& first, const fs::path& second) {
        const auto result = runProgram({"diff", first.string(), second.string(), "--json"});
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return replaced(
            replaced(replaced(result.out, scratch.path().string(), a.parent_path().string()), ".perfetto-trace", ""),
            "//", "/");
    };
    const fs::path extract_a = scratch.file(a.filename().string());
    const fs::path extract_b = scratch.file(b.filename().string());
    const std::string expected = said(a, b);
    EXPECT_EQ(said(extract_a, extract_b), expected);
    EXPECT_EQ(said(extract_a, b), expected) << "an extract and a trace";
}

/// Four ranks, two of them extracted, are one run. By design one thing differs where the first file is an extract:
/// a problem that files share names the first raw file.
TEST(Extract, MixesWithTraces) {
    const fs::path run = test::dataDir() / "recordings/torch-pp-cpu-gloo/1f1b_pp4_mb8/iteration_4";
    const test::ScratchFolder mixed;
    for (const int rank : {0, 1, 2, 3}) {
        const fs::path file = run / fmt::format("rank{}_trace.json.gz", rank);
        if (rank % 2 == 1)
            ASSERT_EQ(runProgram({"extract", file.string(), "--out", mixed.path().string()}).exit_code, 0);
        else
            fs::copy(file, mixed.path() / file.filename());
    }
    EXPECT_EQ(said({"analyze", "--json"}, mixed.path(), run, mixed.path()),
              said({"analyze", "--json"}, run, run, mixed.path()));
}

TEST(Extract, IsSmall) {
    const test::ScratchFolder scratch;
    constexpr std::size_t kBytes = std::size_t{8} << 20;
    const fs::path raw =
        scratch.write("rank0.json", bench::kinetoLike(kBytes, {.rank = 0, .pp = 4, .microbatches = 8}));
    const auto result = runProgram({"extract", raw.string(), "--out", scratch.file("out"), "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto file = result.json()["files"][0];
    EXPECT_EQ(file["copied"], false);
    EXPECT_LT(file["bytes"].get<double>(), 0.02 * static_cast<double>(fs::file_size(raw)));
    EXPECT_LT(file["slices"].get<double>(), 0.2 * file["slices_before"].get<double>());
}

TEST(Extract, CopiesWhatIsSmall) {
    const test::ScratchFolder scratch;
    const fs::path raw = scratch.write("rank0.json", bench::kinetoLike(std::size_t{1} << 18, {.pp = 4}));
    const fs::path tiny = test::dataDir() / "traces/kineto_without_rank.json";
    const fs::path once = scratch.file("once");
    const fs::path twice = scratch.file("twice");
    ASSERT_EQ(runProgram({"extract", raw.string(), "--out", once.string()}).exit_code, 0);
    const fs::path extract = once / extractName("rank0.json");
    const auto again = runProgram({"extract", extract.string(), "--out", twice.string()});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("copied, since it is already an extract"));
    EXPECT_EQ(test::readAll(twice / extractName(extract.filename())), test::readAll(extract));

    const auto copied = runProgram({"extract", tiny.string(), "--out", once.string()});
    EXPECT_THAT(copied.out, HasSubstr("copied, since it is smaller than its extract"));
    EXPECT_EQ(test::readAll(once / extractName(tiny.filename())), test::readAll(tiny));
}

/// Ranks in one file, as `convert` puts them, are as many files of the extract.
TEST(Extract, OfConvertedRanksAnswersAsTheyDo) {
    const test::ScratchFolder scratch;
    for (const std::size_t rank : {0U, 1U, 2U, 3U})
        scratch.write(fmt::format("ranks/rank{}.json", rank),
                      bench::kinetoLike(std::size_t{1} << 20, {.rank = rank, .pp = 4}));
    for (const std::string name : {"ranks.pftrace", "ranks-as.json"}) {
        const std::string merged = scratch.file(name);
        ASSERT_EQ(runProgram({"convert", scratch.file("ranks"), merged}).exit_code, 0);
        expectEqualAnswers(merged);
        const auto result = runProgram({"extract", merged, "--out", scratch.file("out"), "--json"});
        ASSERT_EQ(result.exit_code, 0) << result.err;
        EXPECT_EQ(result.json()["files"][0]["copied"], false);
        EXPECT_LT(result.json()["files"][0]["bytes"].get<double>(), 0.2 * static_cast<double>(fs::file_size(merged)));
    }
}

/// A pipe can be read only once, so its extract is never a copy, however small the trace is.
TEST(Extract, OfStandardInputAnswersAsItDoes) {
    const test::ScratchFolder scratch;
    const fs::path raw = test::dataDir() / "traces/megatron_pp2.json";
    const auto result = runProgram({"extract", "-", "--out", scratch.file("out"), "--json"}, raw.string());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto file = result.json()["files"][0];
    EXPECT_EQ(file["path"], "-");
    EXPECT_TRUE(file["bytes_before"].is_null());
    EXPECT_EQ(file["copied"], false);
    const fs::path extract = scratch.file("out") / extractName("stdin");
    EXPECT_EQ(file["extract"], extract.string());
    auto of_extract = runProgram({"analyze", extract.string(), "--json"}).json();
    auto of_raw = runProgram({"analyze", "-", "--json"}, raw.string()).json();
    EXPECT_EQ(of_extract["steps"], of_raw["steps"]);
    EXPECT_EQ(of_extract["step_time_ns"], of_raw["step_time_ns"]);
    EXPECT_EQ(of_extract["schedule"], of_raw["schedule"]);
    const auto again = runProgram({"extract", "-", "--out", scratch.file("twice")}, extract.string());
    EXPECT_EQ(again.exit_code, 3);
    EXPECT_THAT(again.err, HasSubstr("standard input: is already an extract"));
}

TEST(Extract, DoesNotOverwriteUnasked) {
    const test::ScratchFolder scratch;
    const Words words{"extract", (test::dataDir() / "traces/megatron_pp2.json").string(), "--out", scratch.file("out")};
    ASSERT_EQ(runProgram(words).exit_code, 0);
    EXPECT_EQ(runProgram(words).exit_code, 2);
    Words forced = words;
    forced.push_back("--force");
    EXPECT_EQ(runProgram(forced).exit_code, 0);
}

TEST(Extract, GoesOnBehindAFileThatHoldsNoTrace) {
    const test::ScratchFolder scratch;
    const fs::path wrong = scratch.write("wrong.json", "{\"traceEvents\": 7}");
    const fs::path right = test::dataDir() / "traces/megatron_pp2.json";
    const auto result = runProgram({"extract", wrong.string(), right.string(), "--out", scratch.file("out")});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, HasSubstr("wrong.json"));
    EXPECT_TRUE(fs::exists(scratch.file("out") / extractName("megatron_pp2.json")));
}

TEST(Extract, KnowsTheRulesThatItWasMadeWith) {
    const test::ScratchFolder scratch;
    const std::string rules =
        scratch
            .write("rules.json", R"({"rules": [{"name": "mine", "ops": [{"name": "fwd{microbatch}", "kind": "F"},)"
                                 R"({"name": "bwd{microbatch}", "kind": "B"}]}]})")
            .string();
    std::string events;
    constexpr int kMicrobatches = 100; // a small file would be copied
    for (int i = 0; i < 2 * kMicrobatches; ++i) {
        events += fmt::format(R"({}{{"ph":"X","name":"{}{}","pid":1,"tid":1,"ts":{},"dur":8}})", i == 0 ? "" : ",",
                              i < kMicrobatches ? "fwd" : "bwd", i % kMicrobatches, 10 * i);
    }
    const std::string raw = scratch.write("rank0.json", R"({"traceEvents":[)" + events + "]}").string();
    const std::string without = scratch.file("without");
    const std::string with = scratch.file("with");
    ASSERT_EQ(runProgram({"extract", raw, "--out", without}).exit_code, 0);
    ASSERT_EQ(runProgram({"extract", raw, "--rules", rules, "--out", with}).exit_code, 0);
    const auto missing = runProgram({"analyze", without, "--rules", rules});
    EXPECT_EQ(missing.exit_code, 3);
    EXPECT_THAT(missing.err, HasSubstr("created without the rule 'mine'"));
    const Words analyze{"analyze", "--json", "--rules", rules};
    EXPECT_EQ(said(analyze, with, scratch.path(), with), said(analyze, raw, scratch.path(), with));
}

/// Damage by a disk or a network makes a file unusable and never gives a wrong answer.
TEST(Extract, ThatIsDamagedIsRejected) {
    const test::ScratchFolder scratch;
    const fs::path raw = scratch.write("rank0.json", bench::kinetoLike(std::size_t{1} << 18, {.pp = 4}));
    ASSERT_EQ(runProgram({"extract", raw.string(), "--out", scratch.file("out")}).exit_code, 0);
    const std::string whole = test::readAll(scratch.file("out") / extractName("rank0.json"));
    for (const std::size_t at : {16U, 40U, 200U, 1000U}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
        const auto result = runProgram({"analyze", scratch.write("damaged", damaged).string()});
        EXPECT_EQ(result.exit_code, 3) << at;
        EXPECT_THAT(result.err, HasSubstr("extract")) << at;
    }
}

/// A value that the analysis needs and cannot read, in an extract whose checksum holds, is not a missing pipeline.
TEST(Extract, WithAValueThatCannotBeReadIsRejected) {
    const test::ScratchFolder scratch;
    const fs::path raw = scratch.write("rank0.json", bench::kinetoLike(std::size_t{1} << 18, {.pp = 4}));
    JobControl control;
    const fs::path whole = scratch.file("whole");
    ASSERT_TRUE(extractAnyFile(raw, whole, {}, control).ok());
    const auto read = readTraces({whole}, control);
    ASSERT_TRUE(read.ok()) << read.error().text();
    for (const auto& [key, value] : read.value().trace->files().front().extract->values) {
        FileExtract extract = *read.value().trace->files().front().extract;
        extract.put(key, "\x03 is no list");
        DiagnosticLog log;
        const fs::path damaged = scratch.file("damaged");
        ASSERT_TRUE(perfetto::writeTrace(damaged, *read.value().trace, log, {}, std::vector{extract.encoded()}).ok());
        const auto result = runProgram({"analyze", damaged.string()});
        // Sums of kernels compare ranks that share a stage; here none does.
        const bool is_read =
            key != keyOf(kActivity) && key != keyOf(kCategories) && key != keyOf(kKernelSums) && key != kInstantsKey;
        EXPECT_EQ(result.exit_code, is_read ? 3 : 0) << key << result.out << result.err;
        if (is_read) {
            EXPECT_THAT(result.err, HasSubstr("corrupt extract")) << key;
        }
    }
}

/// Where the engine is not part of the project: BUBBLESCOPE_ENGINE names a Python that has Dask.
TEST(ExtractOutside, RunsOnTwoWorkersOfDask) {
    const char* const python = std::getenv("BUBBLESCOPE_ENGINE");
    if (python == nullptr) GTEST_SKIP() << "needs BUBBLESCOPE_ENGINE, a Python with dask[distributed]";
    const fs::path run = test::dataDir() / "recordings/torch-pp-cpu-gloo/1f1b_pp4_mb8/iteration_4";
    const test::ScratchFolder scratch;
    const fs::path script = scratch.write("extract.py", R"py(
import glob, subprocess, sys
from dask.distributed import Client

def extract(file):
    return subprocess.run([sys.argv[1], "extract", file, "--out", sys.argv[3]], check=True).returncode

if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        files = sorted(glob.glob(sys.argv[2] + "/*"))
        done = client.map(extract, files)
        print(sum(client.gather(done)), len({w for key in client.who_has(done).values() for w in key}), len(files))
)py");
    const fs::path out = scratch.file("extracts");
    const std::string command = fmt::format("'{}' '{}' '{}' '{}' '{}' >'{}' 2>&1", python, script.string(),
                                            BUBBLESCOPE_PROGRAM, run.string(), out.string(), scratch.file("log"));
    ASSERT_EQ(std::system(command.c_str()), 0) << test::readAll(scratch.file("log")); // NOLINT(concurrency-mt-unsafe)
    EXPECT_THAT(test::readAll(scratch.file("log")), HasSubstr("0 2 4"));
    EXPECT_EQ(said({"analyze", "--json"}, out, run, out), said({"analyze", "--json"}, run, run, out));
}

} // namespace
} // namespace bubblescope
