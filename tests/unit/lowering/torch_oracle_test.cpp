// The lists of PyTorch's own runtime, which are not part of the source.

#include "core/families/registry.h"
#include "core/lowering/torch_lowering.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using Json = nlohmann::json;

class OutsideTorchLowering : public testing::Test {
protected:
    void SetUp() override {
        const auto file = test::sharedDir() / "oracles" / "torch" / "lowered.json";
        if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs oracles/torch/lowered.json";
        oracle = Json::parse(std::ifstream(file));
    }

    Json oracle;
};

Schedule orderOf(const Json& params) {
    const auto name = params.at("schedule").get<std::string>();
    const auto& flavors = findScheduleFamily(name)->flavors;
    const bool own = std::ranges::find(flavors, "torch") != flavors.end();
    return makeSchedule({name, own ? "torch" : "", params.at("pp").get<int>(), params.at("microbatches").get<int>(),
                         params.at("vpp").get<int>()})
        .value();
}

TorchLowering optionsOf(const Json& params) {
    TorchLowering options;
    options.defer_pp_recv = params.value("defer_pp_recv", false);
    options.max_active_stages = params.value("max_active_stages", 3);
    options.defer_reduce_grad_wait = params.value("defer_reduce_grad_wait", false);
    if (params.contains("max_outstanding_sends"))
        options.max_outstanding_sends = params["max_outstanding_sends"].get<int>();
    const auto lookahead = params.find("unshard_lookahead");
    if (lookahead == params.end() || *lookahead == "full") return options;
    options.lookahead = lookahead->is_array() ? TorchLowering::Lookahead::Listed : TorchLowering::Lookahead::Auto;
    if (lookahead->is_array()) options.lookahead_list = lookahead->get<std::vector<int>>();
    return options;
}

Result<LoweredSchedule> lowered(const Json& one) {
    return lowerAsTorch(orderOf(one.at("params")), optionsOf(one.at("params")));
}

TEST_F(OutsideTorchLowering, EqualsPyTorchsLists) {
    int compared = 0;
    for (const Json& one : oracle.at("cases")) {
        const auto mine = lowered(one);
        ASSERT_TRUE(mine.ok()) << one.at("params") << mine.error().text();
        const Json& ranks = one.at("ranks");
        ASSERT_EQ(mine.value().actions.size(), ranks.size());
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            EXPECT_EQ(actionCells(mine.value(), Rank{r}), ranks[r].get<std::vector<std::string>>())
                << one.at("params") << " rank " << r;
        }
        ++compared;
    }
    EXPECT_GT(compared, 20);
}

TEST_F(OutsideTorchLowering, RefusesWhatPyTorchRefuses) {
    int compared = 0;
    for (const Json& one : oracle.at("refused")) {
        const auto mine = lowered(one);
        ASSERT_FALSE(mine.ok()) << one.at("params");
        EXPECT_EQ(mine.error().kind, ErrorKind::Usage);
        const std::string text = mine.error().text();
        if (one.contains("before")) {
            EXPECT_NE(text.find("before " + one.at("before").get<std::string>() + ";"), std::string::npos) << text;
            for (const Json& send : one.at("outstanding"))
                EXPECT_NE(text.find(send.get<std::string>()), std::string::npos) << text;
        } else {
            EXPECT_NE(text.find(one.at("pair").get<std::string>()), std::string::npos) << text;
        }
        ++compared;
    }
    EXPECT_GT(compared, 5);
}

} // namespace
} // namespace bubblescope
