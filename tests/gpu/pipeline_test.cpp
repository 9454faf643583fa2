// Whole runs with several ranks on one device: every order of the registry trains to the bits of the run without a
// pipeline, whatever the order in which the device does what is queued.

#include "core/schedule/registry.h"
#include "core/schedule/validate.h"
#include "runtime/device/accelerator/accelerator_backend.h"
#include "runtime/run.h"
#include "tests/gpu/test_device.h"

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

struct Flavor {
    std::string family;
    std::string flavor;

    friend std::ostream& operator<<(std::ostream& out, const Flavor& flavor) {
        return out << flavor.family << '/' << flavor.flavor;
    }
};

std::vector<Flavor> allFlavors() {
    std::vector<Flavor> all;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (family.flavors.empty()) all.push_back({std::string(family.name), ""});
        for (const std::string_view flavor : family.flavors)
            all.push_back({std::string(family.name), std::string(flavor)});
    }
    return all;
}

/// The first order of the flavor with that many slices; nothing if it has none.
std::optional<Schedule> orderOf(const Flavor& flavor, int slices) {
    for (const int pp : {4, 2, 3}) {
        for (const int microbatches : {6, 8, 4}) {
            for (const int vpp : {1, 2, 3}) {
                ScheduleSpec spec{flavor.family, flavor.flavor, pp, microbatches, vpp};
                spec.sequence_slices = slices;
                Result<Schedule> made = makeSchedule(spec);
                if (!made.ok() || !validate(made.value()).empty() || DataPlan(made.value()).slices() != slices)
                    continue;
                return std::move(made).value();
            }
        }
    }
    return std::nullopt;
}

RunConfig configOf(Schedule schedule, Storage storage) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model.width = 16;
    config.model.heads = 2;
    config.model.sequence = 8;
    config.model.batch = 2;
    config.steps = 2;
    config.paced = false;
    config.backend =
        std::make_shared<AcceleratorBackend>("test", testDevice(), storage, std::make_shared<MonotonicClock>());
    return config;
}

void expectTheReferencesBits(const RunConfig& config) {
    const Result<RunSummary> reference = runReference(config);
    ASSERT_TRUE(reference.ok()) << reference.error().text();
    JobControl control;
    const Result<RunSummary> run = runPipeline(config, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().losses, reference.value().losses);
    EXPECT_EQ(run.value().weights_digest, reference.value().weights_digest);
    EXPECT_NEAR(run.value().losses.front(), 5.55, 0.2) << "log 256, before it has learned anything";
}

class Pipelines : public testing::TestWithParam<Flavor> {};

TEST_P(Pipelines, TrainToTheBitsOfTheReference) {
    bool any = false;
    for (const int slices : {1, 2}) {
        const std::optional<Schedule> schedule = orderOf(GetParam(), slices);
        if (!schedule) continue;
        any = true;
        for (const Storage storage : {Storage::Float, Storage::Bf16})
            expectTheReferencesBits(configOf(*schedule, storage));
    }
    EXPECT_TRUE(any);
}

INSTANTIATE_TEST_SUITE_P(Registry, Pipelines, testing::ValuesIn(allFlavors()), [](const auto& param_info) {
    std::string name = param_info.param.family + "_" + param_info.param.flavor;
    for (char& letter : name) {
        if (letter == '-') letter = '_';
    }
    return name;
});

TEST(Replicas, TrainToTheBitsOfTheReference) {
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), Storage::Bf16);
    config.replicas = 2;
    expectTheReferencesBits(config);
}

TEST(Backends, TellTheirErrorsAsTheRuns) {
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), Storage::Float);
    config.model.width = 0;
    JobControl control;
    EXPECT_FALSE(runPipeline(config, control).ok());
}

} // namespace
} // namespace bubblescope::runtime::test
