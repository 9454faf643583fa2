#include "core/families/registry.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/action_check.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace bubblescope {
namespace {

Schedule order(const std::string& name, int pp, int microbatches, int vpp) {
    const auto& flavors = findScheduleFamily(name)->flavors;
    const bool own = std::ranges::find(flavors, "torch") != flavors.end();
    return makeSchedule({name, own ? "torch" : "", pp, microbatches, vpp}).value();
}

std::string row(const LoweredSchedule& lowered, int rank) {
    return fmt::format("{}", fmt::join(actionCells(lowered, Rank{rank}), " "));
}

std::vector<Schedule> someOrders() {
    return {order("fthenb", 3, 4, 1),         order("1f1b", 4, 6, 1), order("interleaved", 2, 4, 3),
            order("interleaved-zb", 4, 8, 2), order("zb-v", 3, 6, 2), order("dualpipev", 2, 5, 2)};
}

/// The most sends of a rank that were posted and not waited for.
std::size_t mostPending(const std::vector<Action>& actions) {
    std::set<std::pair<int, std::pair<int, int>>> pending;
    std::size_t most = 0;
    for (const Action& action : actions) {
        const std::pair key{payloadOf(action.kind) == Payload::Activation ? 0 : 1,
                            std::pair{action.stage.value, action.microbatch.value}};
        if (isSend(action.kind)) pending.insert(key);
        if (isSendWait(action.kind)) pending.erase(key);
        most = std::max(most, pending.size());
    }
    return most;
}

TEST(TorchLowering, ListsWhatTheRuntimeCarriesOut) {
    const auto lowered = lowerAsTorch(order("1f1b", 2, 2, 1), {}).value();
    EXPECT_EQ(row(lowered, 0), "0UNSHARD 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0WAIT_SEND_F0 0RECV_B1 0B1 "
                               "0WAIT_SEND_F1 0REDUCE_GRAD 0WAIT_REDUCE_GRAD 0RESHARD");
    EXPECT_EQ(row(lowered, 1), "1UNSHARD 1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1REDUCE_GRAD "
                               "1WAIT_REDUCE_GRAD 1RESHARD 1WAIT_SEND_B0 1WAIT_SEND_B1");
}

TEST(TorchLowering, ActionsAgreeWithTheOrder) {
    for (const Schedule& schedule : someOrders()) {
        TorchLowering options;
        for (options.defer_pp_recv = false;; options.defer_pp_recv = true) {
            const auto lowered = lowerAsTorch(schedule, options).value();
            const auto problems = checkActions(lowered);
            EXPECT_TRUE(problems.empty()) << scheduleTitle(schedule) << ": " << problems.front().message.text();
            if (options.defer_pp_recv) break;
        }
    }
}

TEST(TorchLowering, KeepsToTheLimitOfOutstandingSends) {
    int limited = 0;
    for (const Schedule& schedule : someOrders()) {
        for (const int limit : {1, 2, 3}) {
            TorchLowering options;
            options.max_outstanding_sends = limit;
            const auto lowered = lowerAsTorch(schedule, options);
            if (!lowered.ok()) continue;
            for (const auto& actions : lowered.value().actions)
                EXPECT_LE(mostPending(actions), static_cast<std::size_t>(limit)) << scheduleTitle(schedule);
            EXPECT_TRUE(checkActions(lowered.value()).empty()) << scheduleTitle(schedule);
            ++limited;
        }
    }
    EXPECT_GT(limited, 12);
}

TEST(TorchLowering, RefusalsNameTheAction) {
    TorchLowering none;
    none.max_outstanding_sends = 0;
    const auto refused = lowerAsTorch(order("1f1b", 2, 4, 1), none);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
    EXPECT_NE(refused.error().text().find("on rank 0 before 0SEND_F0; outstanding: none"), std::string::npos)
        << refused.error().text();

    TorchLowering one_stage;
    one_stage.max_active_stages = 1;
    const auto pair = lowerAsTorch(order("dualpipev", 2, 4, 2), one_stage);
    ASSERT_FALSE(pair.ok());
    EXPECT_NE(pair.error().text().find("OVERLAP_F_B needs the weights of 2 stages"), std::string::npos);
}

TEST(TorchLowering, RejectsListsOfAnotherLength) {
    TorchLowering options;
    options.lookahead = TorchLowering::Lookahead::Listed;
    options.lookahead_list = {1, 2};
    EXPECT_TRUE(lowerAsTorch(order("1f1b", 2, 4, 1), options).ok());
    EXPECT_FALSE(lowerAsTorch(order("1f1b", 3, 4, 1), options).ok());
    options.lookahead_list = {1, 4};
    EXPECT_FALSE(lowerAsTorch(order("1f1b", 2, 4, 1), options).ok()) << "more than max_active_stages";
}

TEST(TorchLowering, SurvivesCsvAndJson) {
    for (const Schedule& schedule : someOrders()) {
        const auto lowered = lowerAsTorch(schedule, {}).value();
        const auto csv = loweredFromCsv(scheduleToCsv(lowered).value(), "text");
        const auto json = loweredFromJson(scheduleToJson(lowered), "text");
        ASSERT_TRUE(csv.ok() && json.ok()) << scheduleTitle(schedule);
        EXPECT_EQ(csv.value().actions, lowered.actions) << scheduleTitle(schedule);
        EXPECT_EQ(json.value().actions, lowered.actions) << scheduleTitle(schedule);
        EXPECT_EQ(json.value().order.ranks, schedule.ranks);
    }
}

TEST(TorchLowering, GroupsStayTogether) {
    const auto lowered = loweredFromCsv("0F0,0SEND_F0,0F1,(0SEND_F1;0RECV_B0)GROUP\n", "text");
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_TRUE(lowered.value().actions[0][3].grouped);
    EXPECT_FALSE(lowered.value().actions[0][4].grouped);
    EXPECT_EQ(row(lowered.value(), 0), "0F0 0SEND_F0 0F1 (0SEND_F1;0RECV_B0)GROUP");
    EXPECT_FALSE(scheduleToCsv(lowered.value()).ok()) << "PyTorch has no groups";
}

TEST(TorchLowering, JsonMustAgreeWithItsOps) {
    const auto says = [](const std::string& lowered) {
        const auto read = loweredFromJson(R"({"ranks":[[["F",0,0],["B",0,0]]],"lowered":)" + lowered + "}", "text");
        return read.ok() ? std::string("accepted") : read.error().text();
    };
    EXPECT_EQ(says(R"([["0UNSHARD","0F0","0B0"]])"), "accepted");
    EXPECT_NE(says(R"([["0F0"]])").find("is missing ops"), std::string::npos);
    EXPECT_NE(says(R"([["0B0","0F0"]])").find("has another op"), std::string::npos);
    EXPECT_NE(says(R"([["0F0","0X0"]])").find("not the name of an action"), std::string::npos);
    EXPECT_NE(says(R"({"0":1})").find("not a list of action names"), std::string::npos);
}

TEST(ActionCheck, NamesWhatIsWrongWithWaitsAndWeights) {
    const auto first = [](const std::string& csv) {
        const auto problems = checkActions(loweredFromCsv(csv, "text").value());
        return problems.empty() ? std::string{} : problems.front().message.text();
    };
    EXPECT_EQ(first("0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0\n1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0\n"), "");
    EXPECT_EQ(first("0F0,0WAIT_SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0\n"),
              "0WAIT_SEND_F0 waits for a send, but there is none before it");
    EXPECT_EQ(first("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0\n"),
              "no action waits for 0SEND_F0");
    EXPECT_EQ(first("0UNSHARD,0F0,0RESHARD,0B0\n"), "0B0 runs while the weights of stage 0 are not gathered");
    EXPECT_EQ(first("0UNSHARD,0F0,0UNSHARD,0B0\n"), "0UNSHARD: the weights are already gathered");
    EXPECT_EQ(first("0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n"),
              "0REDUCE_GRAD starts without waiting for 0REDUCE_GRAD");
    EXPECT_EQ(first("0F0,0B0,0WAIT_REDUCE_GRAD\n"),
              "0WAIT_REDUCE_GRAD waits for a reduction, but there is none before it");
    EXPECT_EQ(first("0F1,0SEND_F1\n1W0\n"), "0SEND_F1 waits forever: rank 1 has no 1RECV_F1");
}

} // namespace
} // namespace bubblescope
