// The division of a GPU's processors, with invented answers of a driver: its functions are found by name at run time.
// No real driver is used.

#include "runtime/backend/cuda/green_contexts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

/// CUdevResource as the driver of CUDA 13 has it.
struct Resource {
    unsigned type;
    unsigned char internal[92];
    unsigned processors;
    unsigned least;
    unsigned alignment;
    unsigned char reserved[36];
};
static_assert(sizeof(Resource) == 144);

/// A driver as of an H100: shares have at least 8 processors, and a multiple of 8.
struct MadeUpDriver {
    unsigned processors = 132;
    std::set<std::string> missing;
    std::set<std::string> refusing;
    int contexts = 0;
    int destroyed = 0;
    std::vector<int> priorities;
    unsigned flags = 0;
};
MadeUpDriver driver;

constexpr int kRefused = 801;

int answer(const char* name) {
    return driver.refusing.contains(name) ? kRefused : 0;
}

int deviceGet(int* device, int ordinal) {
    *device = ordinal + 40; // a handle, not the number
    return answer("cuDeviceGet");
}

int getResource(int device, Resource* resource, unsigned type) {
    EXPECT_EQ(device, 42);
    EXPECT_EQ(type, 1U);
    *resource = {};
    resource->type = type;
    resource->processors = driver.processors;
    resource->least = 8;
    resource->alignment = 8;
    return answer("cuDeviceGetDevResource");
}

int split(Resource* result, unsigned* groups, const Resource* input, Resource* /*remaining*/, unsigned flags,
          unsigned least) {
    EXPECT_EQ(flags, 0U);
    const unsigned each = std::max(8U, (least + 7) / 8 * 8);
    const unsigned possible = input->processors / each;
    if (result == nullptr) {
        *groups = possible;
        return 0;
    }
    *groups = std::min(*groups, possible);
    for (unsigned i = 0; i < *groups; ++i) {
        result[i] = *input;
        result[i].processors = each;
    }
    return answer("cuDevSmResourceSplitByCount");
}

int describe(void** description, Resource* resources, unsigned count) {
    EXPECT_EQ(count, 1U);
    *description = resources;
    return answer("cuDevResourceGenerateDesc");
}

int create(void** context, void* description, int device, unsigned flags) {
    EXPECT_NE(description, nullptr);
    EXPECT_EQ(device, 42);
    EXPECT_EQ(flags, 1U);
    if (answer("cuGreenCtxCreate") != 0) return kRefused;
    ++driver.contexts;
    *context = &driver;
    return 0;
}

int destroy(void* context) {
    EXPECT_EQ(context, &driver);
    ++driver.destroyed;
    return 0;
}

int makeStream(void** stream, void* context, unsigned flags, int priority) {
    EXPECT_EQ(context, &driver);
    driver.flags = flags;
    driver.priorities.push_back(priority);
    *stream = &driver.flags;
    return answer("cuGreenCtxStreamCreate");
}

int errorString(int error, const char** text) {
    *text = error == kRefused ? "operation not supported" : nullptr;
    return 0;
}

template <class Function>
void* symbol(Function* function) {
    return reinterpret_cast<void*>(function);
}

DriverFunctions functions() {
    return [](const char* name) -> void* {
        const std::string which = name;
        if (driver.missing.contains(which)) return nullptr;
        if (which == "cuDeviceGet") return symbol(deviceGet);
        if (which == "cuDeviceGetDevResource") return symbol(getResource);
        if (which == "cuDevSmResourceSplitByCount") return symbol(split);
        if (which == "cuDevResourceGenerateDesc") return symbol(describe);
        if (which == "cuGreenCtxCreate") return symbol(create);
        if (which == "cuGreenCtxDestroy") return symbol(destroy);
        if (which == "cuGreenCtxStreamCreate") return symbol(makeStream);
        if (which == "cuGetErrorString") return symbol(errorString);
        return nullptr;
    };
}

class GreenContexts : public testing::Test {
protected:
    void SetUp() override { driver = {}; }
    [[nodiscard]] static std::string errorOf(int shares) {
        const auto divided = divideProcessors(functions(), 2, shares);
        return divided.ok() ? "none" : divided.error().text();
    }
};

TEST_F(GreenContexts, AreAsLargeAsTheGranularityAllows) {
    struct Case {
        unsigned processors;
        int shares;
        int each;
    };
    for (const Case& test : {Case{132, 4, 32}, {132, 2, 64}, {132, 16, 8}, {132, 1, 128}, {114, 4, 24}, {78, 3, 24}}) {
        driver = {};
        driver.processors = test.processors;
        const auto divided = divideProcessors(functions(), 2, test.shares);
        ASSERT_TRUE(divided.ok()) << divided.error().text();
        EXPECT_EQ(divided.value().size(), static_cast<std::size_t>(test.shares));
        for (const auto& share : divided.value())
            EXPECT_EQ(share->processors(), test.each) << test.processors << " in " << test.shares;
    }
    EXPECT_EQ(driver.contexts, 3);
    EXPECT_EQ(driver.destroyed, 3);
}

TEST_F(GreenContexts, MakeStreamsThatDoNotBlock) {
    const auto divided = divideProcessors(functions(), 2, 4);
    ASSERT_TRUE(divided.ok());
    EXPECT_EQ(divided.value().front()->makeStream(-3), &driver.flags);
    EXPECT_EQ(driver.flags, 1U);
    EXPECT_EQ(driver.priorities, std::vector<int>{-3});
    driver.refusing = {"cuGreenCtxStreamCreate"};
    EXPECT_THROW((void)divided.value().front()->makeStream(0), std::runtime_error);
}

TEST_F(GreenContexts, AreNotThereWithAnOlderDriver) {
    for (const char* const name :
         {"cuDeviceGet", "cuDeviceGetDevResource", "cuDevSmResourceSplitByCount", "cuDevResourceGenerateDesc",
          "cuGreenCtxCreate", "cuGreenCtxDestroy", "cuGreenCtxStreamCreate", "cuGetErrorString"}) {
        driver = {};
        driver.missing = {name};
        EXPECT_NE(errorOf(4).find("the driver does not provide " + std::string(name)), std::string::npos) << errorOf(4);
    }
    const DriverFunctions none = [](const char*) -> void* { return nullptr; };
    EXPECT_FALSE(divideProcessors(none, 0, 2).ok());
}

TEST_F(GreenContexts, AreRefusedWithTheDriversReason) {
    for (const char* const name : {"cuDeviceGet", "cuDeviceGetDevResource", "cuDevSmResourceSplitByCount",
                                   "cuDevResourceGenerateDesc", "cuGreenCtxCreate"}) {
        driver = {};
        driver.refusing = {name};
        EXPECT_NE(errorOf(4).find("operation not supported"), std::string::npos) << name << ": " << errorOf(4);
        EXPECT_EQ(driver.contexts, driver.destroyed);
    }
}

TEST_F(GreenContexts, NeedEnoughProcessors) {
    driver.processors = 20;
    EXPECT_NE(errorOf(4).find("cannot create 4 equal shares of 20 SMs (at least 8 each)"), std::string::npos)
        << errorOf(4);
    EXPECT_EQ(errorOf(2), "none");
}

} // namespace
} // namespace bubblescope::runtime::test
