// Transfers matched on all cores, against a map filled span by span.

#include "core/analysis/clocks/step_events.h"
#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using Match = std::tuple<Rank, Rank, const CommSpan*, const CommSpan*>;

std::vector<Match> matched(const StepTimeline& step) {
    TransferTable table;
    table.read(step);
    std::vector<Match> all;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        table.eachOf(row, [&](const MatchedTransfer& transfer) {
            all.emplace_back(transfer.from, transfer.to, transfer.send, transfer.receive);
        });
    }
    return all;
}

std::vector<Match> matchedOneByOne(const StepTimeline& step) {
    using Key = std::tuple<Payload, Stage, Microbatch, std::int32_t>;
    std::map<Key, std::pair<Rank, const CommSpan*>> sent;
    std::map<Key, std::pair<Rank, const CommSpan*>> received;
    for (std::size_t r = 0; r < step.comm.size(); ++r) {
        for (const CommSpan& span : step.comm[r]) {
            if (span.stage.value < 0 || span.stage.value >= step.pp * step.vpp || span.microbatch.value < 0 ||
                span.microbatch.value >= step.microbatches || span.sequence < 0)
                continue;
            const Key key{span.payload, span.stage, span.microbatch, span.sequence};
            if (span.kind == CommKind::Send) sent.try_emplace(key, Rank{r}, &span);
            if (span.kind == CommKind::Receive) received.try_emplace(key, Rank{r}, &span);
        }
    }
    std::vector<Match> all;
    for (const auto& [key, send] : sent) {
        const auto receive = received.find(key);
        if (receive != received.end())
            all.emplace_back(send.first, receive->second.first, send.second, receive->second.second);
    }
    return all;
}

StepTimeline stepOf(const char* schedule, int ranks, int microbatches, int chunks = 1) {
    test::JitteredRun wanted;
    wanted.spec = {schedule, "", ranks, microbatches, chunks};
    wanted.steps = 1;
    return test::makeJitteredRun(wanted, 3).steps.front();
}

TEST(TransferTable, MatchesWhatRanksRecordOfTheirOwn) {
    const std::vector<std::pair<const char*, int>> schedules{{"1f1b", 1}, {"zb-v", 2}, {"dualpipe", 2}};
    for (const auto& [schedule, chunks] : schedules) {
        for (const int microbatches : {8, 4'400}) { // of the latter, several threads read
            const StepTimeline step = stepOf(schedule, 4, microbatches, chunks);
            const std::vector<Match> all = matched(step);
            EXPECT_FALSE(all.empty());
            EXPECT_EQ(all, matchedOneByOne(step)) << schedule << ", " << microbatches;
        }
    }
}

TEST(TransferTable, CountsTheFirstOfSeveralAlikeWhoeverRecordsThem) {
    for (const int microbatches : {8, 4'400}) {
        StepTimeline step = stepOf("1f1b", 4, microbatches);
        ASSERT_GT(step.comm[2].size(), 3U);
        const std::vector<CommSpan> copied(step.comm[2].begin(), step.comm[2].begin() + 3);
        step.comm[0].insert(step.comm[0].begin(), copied.begin(), copied.end()); // none of that rank's own
        step.comm[3].insert(step.comm[3].end(), copied.begin(), copied.end());
        step.comm[1].push_back(step.comm[1].front());
        step.comm[1].back().start += TimeNs{1};
        EXPECT_EQ(matched(step), matchedOneByOne(step));
    }
}

TEST(TransferTable, LeavesOutWhatTheStepDoesNotHave) {
    StepTimeline step = stepOf("1f1b", 4, 8);
    const std::size_t before = matched(step).size();
    for (CommSpan& span : step.comm[1]) {
        if (span.microbatch == Microbatch{3}) span.microbatch = Microbatch{8};
        if (span.microbatch == Microbatch{4}) span.stage = Stage{-1};
        if (span.microbatch == Microbatch{5}) span.sequence = -1;
    }
    EXPECT_EQ(matched(step), matchedOneByOne(step));
    EXPECT_LT(matched(step).size(), before);
}

TEST(TransferTable, TellsSlicesOfASequenceApart) {
    for (const int microbatches : {8, 4'400}) {
        StepTimeline step = stepOf("1f1b", 4, microbatches);
        const std::size_t before = matched(step).size();
        for (auto& spans : step.comm) {
            for (CommSpan& span : spans) { // three slices of the first of three micro-batches each
                span.sequence = sequenceSlice(span.microbatch.value % 3);
                span.microbatch = Microbatch{span.microbatch.value - span.sequence};
            }
        }
        EXPECT_EQ(matched(step).size(), before);
        EXPECT_EQ(matched(step), matchedOneByOne(step));
    }
}

TEST(TransferTable, ReadsOneStepAfterAnother) {
    TransferTable table;
    table.read(stepOf("1f1b", 4, 16));
    const StepTimeline step = stepOf("1f1b", 2, 4);
    table.read(step);
    std::size_t transfers = 0;
    for (std::size_t row = 0; row < table.rows(); ++row)
        table.eachOf(row, [&](const MatchedTransfer&) { ++transfers; });
    EXPECT_EQ(transfers, matchedOneByOne(step).size());
}

} // namespace
} // namespace bubblescope
