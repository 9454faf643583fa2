// Attention by cuDNN, with a stand-in that runs the described graphs on the host: results, plans, workspaces, failures.

#include "runtime/backend/backend.h"
#include "runtime/run.h"
#include "tests/gpu/flavors.h"
#include "tests/gpu/test_device.h"
#include "tests/support/emulated_device.h"

#include <gmock/gmock.h>

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <regex>
#include <string>
#include <tuple>

namespace bubblescope::runtime::test {
namespace {

using testing::HasSubstr;

/// Also for the other tests of the program.
class LoadStandIn : public testing::Environment {
public:
    void SetUp() override {
        ::setenv("BUBBLESCOPE_CUDNN", BUBBLESCOPE_STAND_IN, 1);
        ::setenv("BUBBLESCOPE_TEST_ATTENTION", "cudnn", 1);
    }
};

[[maybe_unused]] const auto* const load_stand_in = testing::AddGlobalTestEnvironment(new LoadStandIn);

int countOf(const char* what) {
    void* const library = ::dlopen(BUBBLESCOPE_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<int (*)(const char*)>(::dlsym(library, "cudnnStandInCount"))(what);
}

class CudnnAttentionTest : public testing::Test {
protected:
    ~CudnnAttentionTest() override { behave(""); }
    static void behave(const char* how) { ::setenv("CUDNN_STAND_IN", how, 1); }
};

std::shared_ptr<EmulatedDevice> deviceWith(bool cudnn) {
    auto device = std::make_shared<EmulatedDevice>(5U);
    if (cudnn) device->cudnn = chooseAttention(AttentionKernels::Cudnn, 90).value().cudnn;
    return device;
}

struct Sizes {
    int sequences;
    int heads;
    int width;
    int rows;
};

struct Attended {
    Matrix<float> output;
    std::vector<float> logs;
    Matrix<float> grad; ///< of queries, keys and values
};

/// Runs both passes on the rows of a layer: queries, keys and values of a token side by side.
Attended attend(const std::shared_ptr<EmulatedDevice>& device, const Sizes& of) {
    const auto queue = makeQueue(device);
    OnDevice on(queue);
    Numbers numbers(11);
    const int width = of.heads * of.width;
    const int tokens = of.sequences * of.rows;
    const Buffer qkv = on.putRows<Bf16>(numbers.matrix(tokens, 3 * width));
    const Buffer output_grad = on.putRows<Bf16>(numbers.matrix(tokens, width));
    const Buffer output = on.room<Bf16>(tokens * width);
    const Buffer grad = on.room<Bf16>(tokens * 3 * width);
    const Buffer logs = on.room<float>(tokens * of.heads);
    const Buffer along = on.room<float>(tokens * of.heads);
    const auto rows = [&](Bf16* data, int parts) {
        return HeadRows<Bf16>{data, parts * width, std::int64_t{of.rows} * parts * width};
    };
    const auto input = [&](const Buffer& from, int part, int parts) {
        const HeadRows<Bf16> given = rows(from.as<Bf16>() + part * width, parts);
        return HeadRows<const Bf16>{given.data, given.row, given.sequence};
    };
    FusedAttention forward;
    forward.sizes = {of.sequences, of.heads, of.width, of.rows, of.rows, 1 / std::sqrt(static_cast<float>(of.width))};
    forward.queries = input(qkv, 0, 3);
    forward.keys = input(qkv, 1, 3);
    forward.values = input(qkv, 2, 3);
    forward.output = rows(output.as<Bf16>(), 1);
    forward.logs = logs.as<float>();
    device->attend(forward, queue->stream());
    FusedAttentionGradient backward;
    backward.sizes = forward.sizes;
    backward.queries = forward.queries;
    backward.keys = forward.keys;
    backward.values = forward.values;
    backward.output = input(output, 0, 1);
    backward.output_grad = input(output_grad, 0, 1);
    backward.logs = logs.as<float>();
    backward.along = along.as<float>();
    backward.queries_grad = rows(grad.as<Bf16>(), 3);
    backward.keys_grad = rows(grad.as<Bf16>() + width, 3);
    backward.values_grad = rows(grad.as<Bf16>() + 2 * width, 3);
    device->attendBackward(backward, queue->stream());
    return {on.getRows<Bf16>(output, width), on.get<float>(logs), on.getRows<Bf16>(grad, 3 * width)};
}

TEST_F(CudnnAttentionTest, EqualsOwnKernelsWithinRounding) {
    for (const Sizes& sizes : {Sizes{1, 1, 16, 8}, {2, 3, 16, 33}, {2, 2, 64, 20}, {1, 1, 128, 5}, {3, 1, 32, 1}}) {
        SCOPED_TRACE(testing::Message() << sizes.sequences << " x " << sizes.heads << " x " << sizes.rows << " x "
                                        << sizes.width);
        const int before = countOf("executions");
        const Attended by_cudnn = attend(deviceWith(true), sizes);
        EXPECT_EQ(countOf("executions"), before + 2);
        const Attended own = attend(deviceWith(false), sizes);
        EXPECT_LT(distance(by_cudnn.output, own.output.cast<double>()), kRounding<Bf16>);
        EXPECT_LT(distance(by_cudnn.grad, own.grad.cast<double>()), kRounding<Bf16>);
        for (std::size_t i = 0; i < own.logs.size(); ++i)
            EXPECT_NEAR(by_cudnn.logs[i], own.logs[i], 1e-4);
    }
}

TEST_F(CudnnAttentionTest, TrainsToOneModelWithAllSchedules) {
    const int before = countOf("executions");
    std::optional<std::uint64_t> digest;
    for (const char* const family : {"gpipe", "1f1b", "eager-1f1b", "zb-h1"}) {
        RunConfig config;
        config.schedule = makeSchedule({family, "", 2, 4, 1}).value();
        config.model = tinyModel();
        config.model.width = 32;
        config.model.layers_per_stage = 2;
        config.steps = 2;
        config.paced = false;
        config.backend =
            std::make_shared<Backend>("test", testDevice(), Storage::Bf16, std::make_shared<MonotonicClock>());
        JobControl control;
        const Result<RunSummary> run = runPipeline(config, control);
        ASSERT_TRUE(run.ok()) << run.error().text();
        if (!digest) digest = run.value().weights_digest;
        EXPECT_EQ(run.value().weights_digest, *digest) << family;
    }
    EXPECT_GT(countOf("executions"), before);
}

TEST_F(CudnnAttentionTest, FindsOnePlanPerShapeAndOwnsNothingAfterwards) {
    const int handles = countOf("handles");
    const int descriptors = countOf("descriptors");
    const int plans = countOf("plans");
    {
        const auto device = deviceWith(true);
        (void)attend(device, {1, 2, 16, 8});
        (void)attend(device, {1, 2, 16, 8});
        EXPECT_EQ(countOf("plans"), plans + 2) << "forward and backward";
        (void)attend(device, {1, 2, 16, 9});
        EXPECT_EQ(countOf("plans"), plans + 4);
        EXPECT_GT(countOf("descriptors"), descriptors);
        EXPECT_EQ(countOf("handles"), handles + 1) << "the streams' handles are gone";
    }
    EXPECT_EQ(countOf("handles"), handles);
    EXPECT_EQ(countOf("descriptors"), descriptors);
}

TEST_F(CudnnAttentionTest, AllocatesALargerWorkspaceForTheGradient) {
    const auto device = deviceWith(true);
    const auto queue = makeQueue(device);
    constexpr std::int64_t kForward = 256; // see the stand-in
    const auto bytesFor = [&](int rows) { return kForward + 2 * std::int64_t{2} * rows * rows; };
    std::int64_t most = 0;
    for (const int rows : {8, 32, 16}) {
        const std::int64_t before = device->allocations();
        (void)attend(device, {1, 2, 16, rows});
        most = std::max(most, bytesFor(rows));
        EXPECT_GT(device->allocations(), before);
    }
    CudnnAttention::Queue own(*device->cudnn, *device, nullptr);
    const std::int64_t held = device->allocated();
    const std::int64_t allocations = device->allocations();
    FusedAttention forward;
    forward.sizes = {1, 2, 16, 8, 8, 0.25F};
    forward.queries = forward.keys = forward.values = {nullptr, 96, 8 * 96};
    forward.output = {nullptr, 32, 8 * 32};
    (void)device->cudnn->attend(forward, own);
    (void)device->cudnn->attend(forward, own);
    EXPECT_EQ(device->allocated(), held + kForward);
    EXPECT_EQ(device->allocations(), allocations + 1);
    FusedAttentionGradient backward;
    backward.sizes = forward.sizes;
    backward.queries = backward.keys = backward.values = forward.queries;
    backward.output = backward.output_grad = {nullptr, 32, 8 * 32};
    backward.queries_grad = backward.keys_grad = backward.values_grad = {nullptr, 96, 8 * 96};
    (void)device->cudnn->attendBackward(backward, own);
    EXPECT_EQ(device->allocated(), held + kForward + bytesFor(8)) << "a graph of kernels may use the first one";
    EXPECT_EQ(device->attentionWorkspace(backward.sizes) + kForward, bytesFor(8));
}

// gpt2 with batch 8 on a GPU that is too small: 201 MB for each of two ranks, and with checks for another stream of
// each.
TEST_F(CudnnAttentionTest, ItsWorkspaceCountsBeforeARun) {
    const auto mebibytesNeeded = [](bool cudnn) {
        const auto device = deviceWith(cudnn);
        device->capacity = 1000;
        RunConfig config;
        config.schedule = makeSchedule({"1f1b", "", 2, 4, 1}).value();
        config.model.width = 768;
        config.model.heads = 12;
        config.model.sequence = 1024;
        config.model.batch = 8;
        config.model.layers_per_stage = 6;
        config.paced = false;
        config.backend =
            std::make_shared<Backend>("emulated", device, Storage::Bf16, std::make_shared<MonotonicClock>());
        JobControl control;
        const Result<RunSummary> run = runPipeline(config, control);
        EXPECT_FALSE(run.ok());
        EXPECT_EQ(device->allocations(), 0);
        std::smatch found;
        const std::string text = run.ok() ? "" : run.error().text();
        EXPECT_TRUE(std::regex_search(text, found, std::regex("([0-9.]+) GiB for activations"))) << text;
        return found.empty() ? 0.0 : 1024 * std::stod(found[1]);
    };
    EXPECT_NEAR(mebibytesNeeded(true) - mebibytesNeeded(false), 2 * 192, 11) << "of three digits";
}

TEST_F(CudnnAttentionTest, LeavesSlicesToOwnKernels) {
    AttentionSizes sizes;
    sizes.rows = sizes.seen = 8;
    EXPECT_TRUE(CudnnAttention::takes(sizes));
    sizes.seen = 16;
    EXPECT_FALSE(CudnnAttention::takes(sizes));
}

std::string failureOfAttention() {
    try {
        (void)attend(deviceWith(true), {1, 1, 16, 8});
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

TEST_F(CudnnAttentionTest, ReportsWhyItFails) {
    for (const auto& [how, why] :
         {std::pair{"no-engine", "cuDNN 9.19.0 has no engine for attention of this shape: its heuristics propose none"},
          {"varies", "none is deterministic"},
          {"no-plan", "CUDNN_STATUS_NOT_SUPPORTED as asked"},
          {"no-execution", "cannot compute attention: CUDNN_STATUS_EXECUTION_FAILED as asked"}}) {
        behave(how);
        EXPECT_THAT(failureOfAttention(), HasSubstr(why)) << how;
    }
}

TEST_F(CudnnAttentionTest, IsChosenOnlyIfItCanBeLoaded) {
    using enum AttentionKernels;
    const auto noteOf = [](const Result<AttentionChoice>& choice) {
        return choice.ok() ? choice.value().note : "error: " + choice.error().text();
    };
    EXPECT_EQ(noteOf(chooseAttention(Auto, 90)), "attention: own kernels (default)")
        << "until it is known to be the faster one";
    EXPECT_EQ(noteOf(chooseAttention(Own, 90, Cudnn)), "attention: own kernels (requested)");
    EXPECT_EQ(noteOf(chooseAttention(Cudnn, 90)),
              "attention: cuDNN 9.19.0 (requested); slices of sequences: own kernels");
    EXPECT_EQ(noteOf(chooseAttention(Auto, 80, Cudnn)),
              "attention: cuDNN 9.19.0 (default); slices of sequences: own kernels");
    const auto expectRefusal = [&](int capability, const std::string& why) {
        EXPECT_EQ(noteOf(chooseAttention(Auto, capability, Cudnn)), "attention: own kernels: " + why);
        EXPECT_EQ(noteOf(chooseAttention(Cudnn, capability)), "error: no attention by cuDNN: " + why);
        EXPECT_EQ(noteOf(chooseAttention(Auto, capability)), "attention: own kernels (default)");
    };
    expectRefusal(100, "cuDNN computes attention repeatably on GPUs of compute capability 8.0 to 9.0, but this GPU "
                       "has 10.0");
    behave("91800");
    expectRefusal(90, "cuDNN 9.18.0 is too old: 9.19.0 or newer is required");
    behave("no-start");
    expectRefusal(90, "cuDNN 9.19.0 cannot start: CUDNN_STATUS_EXECUTION_FAILED as asked");
    behave("");
    ::setenv("BUBBLESCOPE_CUDNN", "/nowhere/libcudnn.so.9", 1);
    if (!CudnnLibrary::open().ok()) { // unless this machine has one
        expectRefusal(90, "cuDNN was not found: add the folder of libcudnn.so.9 to LD_LIBRARY_PATH, or put its path in "
                          "BUBBLESCOPE_CUDNN");
    }
    ::setenv("BUBBLESCOPE_CUDNN", BUBBLESCOPE_STAND_IN, 1);
}

} // namespace
} // namespace bubblescope::runtime::test
