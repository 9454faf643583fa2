#include "core/cost/cost_files.h"
#include "core/cost/memory_estimate.h"
#include "core/families/registry.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

constexpr const char* kStages = R"({"stages": [{"forward": "5ms", "backward": "10ms", "stage": 0},
 {"forward_ns": 6000000, "input_grad": "6ms", "weight_grad": "5ms", "optimizer": "1ms", "loss": "500us"}]})";
constexpr const char* kLinks = R"({"links": [{"from": 0, "to": 1, "latency": "5us", "bandwidth": "50GB/s"},
 {"between": [1, 2], "latency_ns": 7}]})";
constexpr const char* kOps = R"({"makespan_ns": 12, "ops": [["F", 0, 0, 1, "5us"], ["B", 1, 0, 0, 77],
 ["F", 1, 0, 0, 100, 250], {"kind": "B", "microbatch": 0, "chunk": 0, "rank": 1, "duration": "1ms"}]})";
constexpr const char* kMemory = R"({"layers": [{"count": 3, "parameters": 100, "activation": "1KiB",
 "until_weight_grad": 256, "backward_workspace": 10}, {"parameters": 50}], "first": {"parameters": 7},
 "bytes_per_parameter": {"optimizer": 8}, "optimizer_shards": 2, "layers_per_stage": [1, 3]})";

Schedule oneFOneB(int pp = 2) {
    return makeSchedule({"1f1b", "", pp, 2, 1}).value();
}

class CostFiles : public testing::Test {
protected:
    std::string write(const std::string& text) {
        if (text != written_) folder_.write("input", text);
        written_ = text;
        return folder_.file("input");
    }

    /// The error of a reader on a text; it names the file.
    template <class Read>
    std::string errorOf(const std::string& text, Read read) {
        const std::string file = write(text);
        const auto result = read(file);
        if (result.ok()) return "no error";
        EXPECT_EQ(result.error().kind, ErrorKind::Input);
        EXPECT_THAT(result.error().where, HasSubstr(file));
        EXPECT_FALSE(result.error().hint.empty()) << result.error().text();
        return result.error().text();
    }
    std::string stageError(const std::string& text) { return errorOf(text, readStageTimes); }
    std::string linkError(const std::string& text) {
        return errorOf(text, [](const std::string& file) { return readLinks(file, 4); });
    }
    std::string opError(const std::string& text) {
        return errorOf(text,
                       [](const std::string& file) { return readOpTimes(file, oneFOneB(), OpGraph(oneFOneB())); });
    }
    std::string memoryError(const std::string& text) { return errorOf(text, readModelSizes); }

private:
    ScratchFolder folder_;
    std::string written_ = "nothing yet";
};

TEST_F(CostFiles, StageTimesCompleteTheirHalves) {
    const auto stages = readStageTimes(write(kStages)).value();
    ASSERT_EQ(stages.size(), 2U);
    EXPECT_EQ(stages[0].forward, TimeNs{5'000'000});
    EXPECT_EQ(stages[0].input_grad, TimeNs{5'000'000});
    EXPECT_EQ(stages[1].forward, TimeNs{6'500'000});
    EXPECT_EQ(stages[1].backward, TimeNs{12'000'000});
    EXPECT_EQ(stages[1].input_grad, TimeNs{6'500'000});
    EXPECT_EQ(stages[1].weight_grad, TimeNs{5'500'000});
    EXPECT_EQ(stages[1].optimizer, TimeNs{1'000'000});
    const OpTimes mean = meanTimes(stages);
    EXPECT_EQ(mean.forward, TimeNs{5'750'000});
    EXPECT_EQ(mean.backward, mean.input_grad + mean.weight_grad);
}

TEST_F(CostFiles, CsvReadsAsJsonDoes) {
    const auto stages =
        readStageTimes(write("stage, forward, backward, loss\r\n0,5ms,10ms,\r\n\n1,\"6ms\",11ms,1ms\n")).value();
    ASSERT_EQ(stages.size(), 2U);
    EXPECT_EQ(stages[1].forward, TimeNs{7'000'000});
    const auto links = readLinks(write("from,to,latency_ns,bandwidth\n0,1,12,400Gbit/s\n"), 2).value();
    ASSERT_EQ(links.size(), 1U);
    EXPECT_EQ(links[0].latency, TimeNs{12});
    EXPECT_EQ(links[0].bytes_per_second, 50'000'000'000);
    const auto ops =
        readOpTimes(write("kind,microbatch,chunk,rank,duration\nF,1,0,1,3us\n"), oneFOneB(), OpGraph(oneFOneB()))
            .value();
    EXPECT_EQ(ops.op(Rank{1}, {OpKind::Forward, Microbatch{1}, Chunk{0}}), TimeNs{3000});
}

TEST_F(CostFiles, LinksOfOneOrBothDirections) {
    const auto links = readLinks(write(kLinks), 3).value();
    ASSERT_EQ(links.size(), 3U);
    EXPECT_EQ(links[1].from, Rank{1});
    EXPECT_EQ(links[2].from, Rank{2});
    EXPECT_EQ(links[2].to, Rank{1});
    EXPECT_EQ(links[2].latency, TimeNs{7});
    EXPECT_FALSE(links[2].bytes_per_second.has_value());
}

TEST_F(CostFiles, OpTimesInEveryForm) {
    const auto times = readOpTimes(write(kOps), oneFOneB(), OpGraph(oneFOneB())).value();
    EXPECT_EQ(times.opCount(), 8U); // two forwards, and two backwards with their halves
    EXPECT_EQ(times.op(Rank{0}, {OpKind::BackwardInput, Microbatch{1}, Chunk{0}}), TimeNs{39});
    EXPECT_EQ(times.op(Rank{0}, {OpKind::BackwardWeight, Microbatch{1}, Chunk{0}}), TimeNs{38});
    EXPECT_EQ(times.op(Rank{1}, {OpKind::Forward, Microbatch{0}, Chunk{0}}), TimeNs{5000});
    EXPECT_EQ(times.op(Rank{0}, {OpKind::Backward, Microbatch{1}, Chunk{0}}), TimeNs{77});
    EXPECT_EQ(times.op(Rank{0}, {OpKind::Forward, Microbatch{1}, Chunk{0}}), TimeNs{150});
    EXPECT_EQ(times.op(Rank{1}, {OpKind::Backward, Microbatch{0}, Chunk{0}}), TimeNs{1'000'000});
    EXPECT_EQ(times.op(Rank{0}, {OpKind::Forward, Microbatch{0}, Chunk{0}}), std::nullopt);
    EXPECT_EQ(times.longest(), TimeNs{1'000'000});
}

TEST_F(CostFiles, ErrorsNameThePlace) {
    EXPECT_THAT(stageError(""), HasSubstr("empty"));
    EXPECT_THAT(stageError("[1]"), HasSubstr("not a JSON object"));
    EXPECT_THAT(stageError(R"({"stages": [})"), HasSubstr("byte 13"));
    EXPECT_THAT(stageError("forward,backward\n5ms,10ms\n5ms\n"), HasSubstr("line 3 has 1 cells"));
    EXPECT_THAT(stageError("forward,backward\n5ms,10ms\n\n5ms,x\n"), HasSubstr("line 4, backward"));
    EXPECT_THAT(stageError(R"({"stages": {}})"), HasSubstr("stages is missing"));
    EXPECT_THAT(stageError(R"({"stage": []})"), HasSubstr("stage is not a known field"));
    EXPECT_THAT(stageError(R"({"stages": [{"backward": "1ms"}]})"), HasSubstr("stages[0] has no time \"forward\""));
    EXPECT_THAT(stageError(R"({"stages": [{"forward": 5, "backward": "1ms"}]})"), HasSubstr("stages[0], forward is 5"));
    EXPECT_THAT(stageError(R"({"stages": [{"forward": "5", "backward": "1ms"}]})"), HasSubstr("the unit is missing"));
    EXPECT_THAT(stageError(R"({"stages": [{"forward": "5ms", "backwards": "1ms"}]})"),
                HasSubstr("backwards is not a known field"));
    EXPECT_THAT(stageError(R"({"stages": [{"forward": "5ms"}]})"), HasSubstr("backward's time is missing"));
    EXPECT_THAT(stageError(R"({"stages": [{"forward": "5ms", "forward_ns": 5, "backward": "5ms"}]})"),
                HasSubstr("is also specified as forward_ns"));
    EXPECT_THAT(stageError(R"({"stages": [{"forward_ns": -1, "backward": "5ms"}]})"), HasSubstr("forward_ns is -1"));
    EXPECT_THAT(stageError(R"({"stages": [{"stage": 1, "forward": "5ms", "backward": "5ms"}]})"),
                HasSubstr("in order"));
    EXPECT_THAT(stageError(R"({"stages": [{"forward_ns": 9223372036854775807, "backward": "5ms"}]})"),
                HasSubstr("too large"));
    EXPECT_THAT(stageError(R"({"stages": [{"forward_ns": 18446744073709551615, "backward": "5ms"}]})"),
                HasSubstr("forward_ns"));

    EXPECT_THAT(linkError(R"({"links": [{"from": 0, "latency": "1us"}]})"),
                HasSubstr("links[0] does not name two ranks"));
    EXPECT_THAT(linkError(R"({"links": [{"from": 0, "to": 4, "latency": "1us"}]})"), HasSubstr("from 0 to 3"));
    EXPECT_THAT(linkError(R"({"links": [{"from": 0, "to": 2, "latency": "1us"}]})"), HasSubstr("exchange no data"));
    EXPECT_THAT(linkError(R"({"links": [{"from": 1, "to": 1, "latency": "1us"}]})"), HasSubstr("exchange no data"));
    EXPECT_THAT(linkError(R"({"links": [{"from": 0, "to": 1}]})"), HasSubstr("neither"));
    EXPECT_THAT(linkError(R"({"links": [{"between": [0], "latency": "1us"}]})"), HasSubstr("does not name two ranks"));
    EXPECT_THAT(linkError(R"({"links": [{"from": 0, "to": 1, "bandwidth": "fast"}]})"), HasSubstr("not a bandwidth"));
    EXPECT_THAT(linkError("from,to,latency\n0,1,1us\n1,0,1us\n0,1,2us\n"), HasSubstr("line 4 repeats a link"));

    EXPECT_THAT(opError(R"({"ops": [["F", 0, 0, 0]]})"), HasSubstr("ops[0] is not [kind"));
    EXPECT_THAT(opError(R"({"ops": [["X", 0, 0, 0, 1]]})"), HasSubstr("not name a kind of op"));
    EXPECT_THAT(opError(R"({"ops": [["F", 2, 0, 0, 1]]})"), HasSubstr("F2.0, which rank 0"));
    EXPECT_THAT(opError(R"({"ops": [["I", 0, 0, 0, 1]]})"), HasSubstr("ops[0] has only one half of B0.0"));
    EXPECT_THAT(opError(R"({"ops": [["B", 0, 0, 0, 9], ["I", 0, 0, 0, 5], ["W", 0, 0, 0, 5]]})"),
                HasSubstr("do not add up"));
    EXPECT_THAT(opError(R"({"ops": [["I", 2, 0, 0, 1]]})"), HasSubstr("I2.0, which rank 0"));
    EXPECT_THAT(opError(R"({"ops": [["O", 0, 0, 0, 1]]})"), HasSubstr("O, which rank 0"));
    EXPECT_THAT(opError(R"({"ops": [["F", 0, 0, 2, 1]]})"), HasSubstr("from 0 to 1"));
    EXPECT_THAT(opError(R"({"ops": [["F", 0, 0, 0, 9, 3]]})"), HasSubstr("ends before it starts"));
    EXPECT_THAT(opError(R"({"ops": [["F", 0, 0, 0, 1], ["F", 0, 0, 0, 2]]})"), HasSubstr("ops[1] lists F0.0"));
    EXPECT_THAT(opError("kind,microbatch,chunk,rank\nF,0,0,0\n"), HasSubstr("line 2 needs a duration"));

    EXPECT_THAT(memoryError("a,b\n"), HasSubstr("not valid JSON"));
    EXPECT_THAT(memoryError("{}"), HasSubstr("layers is missing"));
    EXPECT_THAT(memoryError(R"({"layers": [{"activations": 1}]})"), HasSubstr("activations is not a known field"));
    EXPECT_THAT(memoryError(R"({"layers": [{"activation": "1 m"}]})"), HasSubstr("not a size"));
    EXPECT_THAT(memoryError(R"({"layers": [{"count": 2000000}]})"), HasSubstr("count"));
    EXPECT_THAT(memoryError(R"({"layers": [{}], "optimizer_shards": 0})"), HasSubstr("optimizer_shards"));
    EXPECT_THAT(memoryError(R"({"layers": [{}], "transformer": {}})"), HasSubstr("cannot be combined"));
    EXPECT_THAT(memoryError(R"({"transformer": {}})"), HasSubstr("the transformer's \"layers\" is 0"));
    EXPECT_THAT(memoryError(R"({"transformer": {"layers": 2, "hidden": 10, "heads": 3, "sequence": 8}})"),
                HasSubstr("the transformer's \"hidden\" is 10, not a multiple"));
    EXPECT_THAT(memoryError(R"({"transformer": {"recompute": "some"}})"), HasSubstr("recompute"));

    EXPECT_FALSE(readStageTimes("/no/such/file").ok());
    EXPECT_FALSE(readModelSizes("/").ok());
}

/// Readers handle any bytes: no crash, and an error that names the file.
TEST_F(CostFiles, DamagedInputsAreErrorsOrRead) {
    std::mt19937 random(3);
    const std::string pieces = "{}[]\",:0123456789-.eE\\ \n\tFBIWOmsnu\xff";
    int damaged = 0;
    for (const std::string& good : {std::string(kStages), std::string(kLinks), std::string(kOps), std::string(kMemory),
                                    std::string("forward,backward\n5ms,10ms\n6ms,11ms\n")}) {
        for (int round = 0; round < 120; ++round) {
            std::string text = good;
            for (int edit = 0; edit < 1 + round % 4; ++edit) {
                const std::size_t place = random() % text.size();
                switch (random() % 4) {
                case 0: text[place] = pieces[random() % pieces.size()]; break;
                case 1: text.erase(place, 1 + random() % 8); break;
                case 2: text.insert(place, 1, pieces[random() % pieces.size()]); break;
                default: text.resize(place); break;
                }
                if (text.empty()) text = " ";
            }
            for (const std::string& error : {stageError(text), linkError(text), opError(text), memoryError(text)})
                damaged += error == "no error" ? 0 : 1;
        }
    }
    EXPECT_GT(damaged, 1200);
}

} // namespace
} // namespace bubblescope::test
