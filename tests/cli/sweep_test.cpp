// Schedules that `simulate` compares: values with commas between them, tables and figures.

#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/xml_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Words sweptWith(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

const Words kPaper{
    "simulate",   "--schedule", "1f1b,interleaved,zb-v", "--pp", "8", "--microbatches", "8,16,32", "--forward", "4ms",
    "--backward", "8ms"};

using Row = std::map<std::string, std::string>;

std::vector<Row> sweptRows(const std::string& csv) {
    std::istringstream lines(csv);
    std::vector<std::string> names;
    std::vector<Row> rows;
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string> cells;
        std::istringstream parts(line);
        for (std::string cell; std::getline(parts, cell, ',');)
            cells.push_back(cell);
        if (names.empty()) {
            names = cells;
            continue;
        }
        Row& row = rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i)
            row[names[i]] = cells[i];
    }
    return rows;
}

TEST(Sweep, OfAPaperHasEqualWork) {
    const auto result = runProgram(sweptWith(kPaper, {"--csv", "-"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::vector<Row> rows = sweptRows(result.out);
    ASSERT_EQ(rows.size(), 9U) << result.out;
    for (const Row& row : rows) {
        const int m = std::stoi(row.at("microbatches"));
        const std::int64_t makespan = std::stoll(row.at("makespan_ns"));
        const std::int64_t work = m * 12'000'000LL; // of each rank, in every schedule
        if (row.at("schedule") == "1f1b") {
            EXPECT_EQ(makespan, work + 7 * 12'000'000); // (m + p - 1)(f + b)
            EXPECT_EQ(row.at("vpp"), "1");
            EXPECT_NEAR(std::stod(row.at("bubble_rate")), 7.0 / (m + 7), 1e-9);
            EXPECT_EQ(row.at("peak_microbatches"), "8");
        } else if (row.at("schedule") == "interleaved (megatron)") {
            EXPECT_EQ(makespan, work + 7 * 12'000'000 / 2); // the bubble of 1F1B over v
            EXPECT_EQ(row.at("forward_ns"), "2000000");
        } else {
            EXPECT_EQ(row.at("vpp"), "2");
            EXPECT_GE(makespan, work);
            EXPECT_LT(makespan, work + 7 * 12'000'000 / 2);
            EXPECT_LE(std::stod(row.at("peak_microbatches")), 8.5); // the memory of 1F1B
        }
    }
}

TEST(Sweep, TakesAnyOption) {
    const auto result = runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--comm",
                                    "0,1ms,2ms", "--forward", "4ms,5ms", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto schedules = result.json()["schedules"];
    ASSERT_EQ(schedules.size(), 6U);
    EXPECT_EQ(schedules[0]["settings"]["comm"], "0");
    for (const auto& one : schedules) {
        // 1F1B: (m + p - 1)(f + b) + 2c(p - 1 + floor((m - 1)(p - 1) / p)), backwards twice the forward
        const std::int64_t f = one["settings"]["forward"] == "4ms" ? 4 : 5;
        const std::int64_t c = one["settings"]["comm"] == "0" ? 0 : one["settings"]["comm"] == "1ms" ? 1 : 2;
        EXPECT_EQ(one["makespan_ns"], (11 * 3 * f + 2 * c * (3 + 7 * 3 / 4)) * 1'000'000);
    }
}

TEST(Sweep, OneScheduleKeepsTheTimesOfItsOps) {
    const Words words{"simulate", "--schedule", "interleaved", "--pp", "4", "--forward", "4ms", "--json"};
    const auto alone = runProgram(sweptWith(words, {"--microbatches", "8"})).json();
    const auto swept = runProgram(sweptWith(words, {"--microbatches", "8,16"})).json()["schedules"][0];
    EXPECT_EQ(alone["makespan_ns"], swept["makespan_ns"]);
    const auto of_rank = runProgram(sweptWith(words, {"--microbatches", "8", "--times-of", "rank"})).json();
    EXPECT_EQ(2 * of_rank["makespan_ns"].get<std::int64_t>(), alone["makespan_ns"].get<std::int64_t>());
    const auto compared =
        runProgram(sweptWith(words, {"--microbatches", "8", "--compare", "1f1b"})).json()["schedules"];
    EXPECT_EQ(compared[0]["makespan_ns"], alone["makespan_ns"]);
    EXPECT_EQ(compared[1]["forward_ns"], 8'000'000); // one op does the work of two
    EXPECT_EQ(compared[1]["makespan_ns"], 11 * 24'000'000);
}

TEST(Sweep, TakesScheduleFilesAndStageTimes) {
    const ScratchFolder scratch;
    const std::string order = scratch.file("order.json");
    ASSERT_EQ(
        runProgram({"schedule", "--schedule", "zb-h1", "--pp", "4", "--microbatches", "8", "--out", order}).exit_code,
        0);
    const auto mixed = runProgram({"simulate", "--schedule", "1f1b," + order, "--pp", "4", "--microbatches", "8,16",
                                   "--forward", "4ms", "--json"});
    ASSERT_EQ(mixed.exit_code, 0) << mixed.err;
    const auto schedules = mixed.json()["schedules"];
    ASSERT_EQ(schedules.size(), 3U); // the file has its own sizes, so it appears once
    EXPECT_EQ(schedules[2]["schedule"], "zb-h1");

    const std::string times =
        scratch.write("times.csv", "stage,forward,backward\n0,4ms,8ms\n1,4ms,8ms\n2,4ms,8ms\n3,8ms,16ms\n").string();
    const auto uneven = runProgram({"simulate", "--schedule", "1f1b,interleaved", "--pp", "4", "--microbatches", "8",
                                    "--stage-times", times, "--json"});
    ASSERT_EQ(uneven.exit_code, 0) << uneven.err;
    for (const auto& one : uneven.json()["schedules"])
        EXPECT_EQ(one["ranks"][3]["busy_ns"], 8 * 24'000'000); // a rank's work stays, cut or not
}

TEST(Sweep, ReportsWhatDoesNotExist) {
    const auto result = runProgram({"simulate", "--schedule", "1f1b,interleaved", "--pp", "4", "--microbatches", "8,9",
                                    "--forward", "4ms", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto schedules = result.json()["schedules"];
    ASSERT_EQ(schedules.size(), 4U);
    EXPECT_THAT(schedules[3]["reason"].get<std::string>(), HasSubstr("m divisible by p"));
    const auto none = runProgram({"simulate", "--schedule", "interleaved", "--pp", "4", "--microbatches", "9,10"});
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_THAT(none.err, HasSubstr("m divisible by p"));
    EXPECT_EQ(runProgram(sweptWith(kPaper, {"--out", "x.pftrace"})).exit_code, 2);
    EXPECT_EQ(runProgram(sweptWith(kPaper, {"--compare", ""})).exit_code, 2);
    // A limit has to matter to one of them, and those to which it does not are named.
    const Words limited{"simulate", "--pp", "4", "--microbatches", "8", "--memory-limit", "8", "--schedule"};
    EXPECT_EQ(runProgram(sweptWith(limited, {"1f1b,fthenb"})).exit_code, 2);
    const auto some = runProgram(sweptWith(limited, {"1f1b,zb-v", "--json"}));
    ASSERT_EQ(some.exit_code, 0) << some.err;
    EXPECT_THAT(some.json()["schedules"][0]["unused"][0].get<std::string>(), HasSubstr("--memory-limit"));
    EXPECT_TRUE(some.json()["schedules"][1]["unused"].empty());
}

TEST(Sweep, WritesTables) {
    const auto latex = runProgram(sweptWith(kPaper, {"--latex", "-"}));
    ASSERT_EQ(latex.exit_code, 0) << latex.err;
    EXPECT_THAT(latex.out, HasSubstr("\\begin{tabular}{lrrrrrrrrrr}"));
    EXPECT_THAT(latex.out,
                testing::ContainsRegex("1f1b & 8 & 8 & 1 & 4\\.0+ ms & 8\\.0+ ms & 180[.0]* ms & 46\\.[67]+ .%"));
    const auto markdown = runProgram(sweptWith(kPaper, {"--markdown", "-"}));
    EXPECT_THAT(markdown.out, HasSubstr("| --- | ---: |"));
    EXPECT_THAT(markdown.out, HasSubstr("| 1f1b | 8 | 8 | 1 | 4."));
    const auto text = runProgram(kPaper);
    EXPECT_THAT(text.out, HasSubstr("Equal work"));
    EXPECT_THAT(text.out, HasSubstr("interleaved (megatron)"));
}

TEST(Sweep, DrawsFigures) {
    const ScratchFolder scratch;
    const std::string svg = scratch.file("rates.svg");
    const std::string pdf = scratch.file("rates.pdf");
    ASSERT_EQ(runProgram(sweptWith(kPaper, {"--figure", svg})).exit_code, 0);
    ASSERT_EQ(runProgram(sweptWith(kPaper, {"--figure", pdf})).exit_code, 0);
    EXPECT_EQ(runProgram(sweptWith(kPaper, {"--figure", scratch.file("rates.png")})).exit_code, 2);
    const auto drawing = XmlReader::read(readAll(svg));
    ASSERT_TRUE(drawing);
    std::vector<std::string> texts;
    for (const XmlElement* text : drawing->all("text"))
        texts.push_back(text->text);
    EXPECT_THAT(texts, testing::IsSupersetOf({"Bubble rate (%)", "Makespan (ms)", "Micro-batches m", "1f1b", "32"}));

    const std::string file = readAll(pdf);
    ASSERT_TRUE(file.starts_with("%PDF-1.4\n"));
    ASSERT_TRUE(file.ends_with("%%EOF\n"));
    // Each object is where the table says.
    const std::size_t table = std::stoul(file.substr(file.rfind("startxref\n") + 10));
    ASSERT_EQ(file.substr(table, 5), "xref\n");
    std::istringstream entries(file.substr(table));
    std::string line;
    for (int skipped = 0; skipped < 3; ++skipped)
        std::getline(entries, line);
    for (int object = 1; std::getline(entries, line) && line.ends_with(" n "); ++object) {
        const std::string begin = fmt::format("{} 0 obj\n", object);
        EXPECT_EQ(file.substr(std::stoul(line), begin.size()), begin);
    }
    EXPECT_THAT(file, HasSubstr("(Bubble rate \\(%\\)) Tj"));
}

TEST(Sweep, RunsEncodersAsAChainInOtherSchedules) {
    const auto compare = [](const std::string& encoders) {
        return runProgram({"simulate", "--schedule", "1f1b,zb-h1", "--pp", "6", "--microbatches", "8", "--forward",
                           "10ms", "--encoders", encoders});
    };
    EXPECT_THAT(compare("2:6ms").out, HasSubstr("zb-h1 (handcrafted) runs the encoder and the trunk as one chain"));
    EXPECT_THAT(compare("2:6ms+1:4ms").out, HasSubstr("runs both encoders and the trunk as one chain"));
    EXPECT_THAT(compare("2:6ms").out, testing::Not(HasSubstr("1f1b runs the encoder")));
}

} // namespace
} // namespace bubblescope::test
