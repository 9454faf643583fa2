#include "tests/cli/program.h"
#include "tests/support/checked_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

class AadiffFiles : public testing::Test {
protected:
    /// A run whose forward of micro-batch 1 in layer 3 has a flipped bit in step 1.
    static CheckedRun struck() {
        CheckedRun run;
        run.fault = [](const DigestRecord& made) {
            const bool here =
                made.step == 1 && made.op == Op{OpKind::Forward, Microbatch{1}, Chunk{0}} && made.layer == 3;
            return made.digest ^ (here ? 1U : 0U);
        };
        return run;
    }
    static CheckRecord mismatch() {
        CheckRecord check;
        check.outcome = CheckOutcome::Mismatch;
        check.verdict = Verdict::Device;
        check.step = 1;
        check.rank = Rank{1};
        check.op = {OpKind::Forward, Microbatch{1}, Chunk{0}};
        check.layer = 3;
        check.tensor = "output";
        check.first = 1;
        check.second = 2;
        check.difference = TensorDifference{64, 1, 5, 0x3f800000, 0xbf800000, 2130706432};
        return check;
    }
    std::string path(const std::string& name) const { return folder_.file(name); }

    ScratchFolder folder_;
};

TEST_F(AadiffFiles, AreComparedToTheFirstDifference) {
    CheckedRun().write(folder_, "a");
    struck().write(folder_, "b");
    const auto same = runProgram({"aadiff", "compare", path("a"), path("a"), "--fail-on", "difference,uncompared"});
    EXPECT_EQ(same.exit_code, 0) << same.err;
    EXPECT_THAT(same.out, HasSubstr("208 digests compared in 2 steps: all are equal"));

    const auto text = runProgram({"aadiff", "compare", path("a"), path("b")});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("First difference: step 1, F1.0 of layer 3, output"));
    EXPECT_THAT(text.out, HasSubstr("all result from it"));
    EXPECT_THAT(text.out, HasSubstr("Where the difference spread"));
    for (const char* const kind : {"difference", "unexpected"})
        EXPECT_EQ(runProgram({"aadiff", "compare", path("a"), path("b"), "--fail-on", kind}).exit_code, 1) << kind;
    EXPECT_EQ(runProgram({"aadiff", "compare", path("a"), path("b"), "--fail-on", "uncompared"}).exit_code, 0);

    const auto json = runProgram({"aadiff", "compare", path("a"), path("b"), "--json"}).json();
    EXPECT_FALSE(json["equal"]);
    EXPECT_EQ(json["compared"], 208);
    EXPECT_EQ(json["independent"], 1);
    EXPECT_EQ(json["first"]["step"], 1);
    EXPECT_EQ(json["first"]["layer"], 3);
    EXPECT_EQ(json["first"]["a"]["rank"], 1);
    EXPECT_EQ(json["first"]["a"]["op"], "F1.0");
    EXPECT_EQ(json["differing"], json["explained"].get<int>() + 1);
    EXPECT_EQ(json["expected_equal"], "everywhere");
    EXPECT_TRUE(json["unexpected"]);
}

TEST_F(AadiffFiles, AreComparedAcrossSchedules) {
    CheckedRun().write(folder_, "a");
    CheckedRun other = struck();
    other.spec = {"zb-h1", "", 2, 4, 1};
    other.layers = 4;
    other.write(folder_, "b");
    const auto json = runProgram({"aadiff", "compare", path("a"), path("b"), "--json"}).json();
    EXPECT_EQ(json["first"]["layer"], 3);
    EXPECT_EQ(json["first"]["a"]["rank"], 1);
    EXPECT_EQ(json["first"]["b"]["rank"], 0);
    EXPECT_EQ(json["only_a"], 0);
    EXPECT_EQ(json["only_b"], 0);
}

TEST_F(AadiffFiles, WithoutDigestsCannotBeCompared) {
    CheckedRun().write(folder_, "a");
    CheckedRun().write(folder_, "b", false);
    const auto none = runProgram({"aadiff", "compare", path("a"), path("b")});
    EXPECT_EQ(none.exit_code, 3);
    EXPECT_THAT(none.err, HasSubstr("no checks or digests"));
    EXPECT_EQ(runProgram({"aadiff", "compare", path("a")}).exit_code, 2);
    EXPECT_EQ(runProgram({"aadiff", "compare", path("a"), path("nowhere")}).exit_code, 3);
    EXPECT_EQ(runProgram({"aadiff", "compare", path("a"), path("a"), "--fail-on", "everything"}).exit_code, 2);
}

TEST_F(AadiffFiles, ShowTheirChecksInTheAnalysis) {
    CheckedRun run;
    run.checks = {mismatch()};
    run.write(folder_, "run");
    const auto text = runProgram({"analyze", path("run")});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("Checks in bubbles: 1 of 16 units covered, 0 not yet, 15 never"));
    EXPECT_THAT(text.out, HasSubstr("in checks"));
    EXPECT_THAT(text.out, HasSubstr("published rates"));
    EXPECT_THAT(text.out, HasSubstr("bit 31 flipped"));
    EXPECT_THAT(text.out, HasSubstr("aadiff-unchecked"));
    EXPECT_EQ(runProgram({"analyze", path("run"), "--fail-on", "aadiff-mismatch"}).exit_code, 1);
    EXPECT_EQ(runProgram({"analyze", path("run"), "--fail-on", "aadiff-unchecked"}).exit_code, 1);

    const auto json = runProgram({"analyze", path("run"), "--json"}).json();
    const auto& aadiff = json["aadiff"];
    EXPECT_EQ(aadiff["coverage"]["units"], 16);
    EXPECT_EQ(aadiff["coverage"]["covered"], 1);
    EXPECT_EQ(aadiff["coverage"]["never"], 15);
    EXPECT_EQ(aadiff["units"].size(), 16U);
    EXPECT_EQ(aadiff["checks"]["replay"]["mismatched"], 1);
    ASSERT_EQ(aadiff["mismatches"].size(), 1U);
    EXPECT_EQ(aadiff["mismatches"][0]["verdict"], "device");
    EXPECT_EQ(aadiff["mismatches"][0]["flipped_bits"], nlohmann::json({31}));
    EXPECT_EQ(aadiff["mismatches"][0]["first_bits"], "3f800000");
    EXPECT_EQ(aadiff["odds"]["devices"], 4);
    EXPECT_EQ(json["steps"][0]["ranks"][0]["replay_ns"], 0);
}

TEST_F(AadiffFiles, AreSilentWithoutChecks) {
    CheckedRun().write(folder_, "run");
    const auto json = runProgram({"analyze", path("run"), "--json", "--fail-on", "aadiff-unchecked,aadiff-mismatch"});
    EXPECT_EQ(json.exit_code, 0);
    EXPECT_FALSE(json.json().contains("aadiff"));
    EXPECT_EQ(runProgram({"analyze", path("run")}).out.find("Checks in bubbles"), std::string::npos);
}

} // namespace
} // namespace bubblescope::test
