// Commands whose memory ends somewhere on their way.

#include "tests/cli/program.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

/// The result of a command whose addresses are limited.
ProgramResult runWithin(std::size_t mebibytes, const std::vector<std::string>& arguments) {
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit limit{rlim_t{mebibytes} << 20, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit); // this process's children have it, too
    ProgramResult result = runProgram(arguments);
    ::setrlimit(RLIMIT_AS, &before);
    return result;
}

TEST(Memory, WhereverItEndsACommandSaysSo) {
    if (kSanitized) GTEST_SKIP() << "sanitizers need all addresses";
    const ScratchFolder folder;
    const std::string file = folder.file("many_tracks.json");
    {
        std::ofstream out(file);
        out << "[";
        for (int i = 0; i < 20'000; ++i)
            out << fmt::format(R"({{"ph":"X","name":"n{0}","pid":1,"tid":{0},"ts":{0},"dur":1}},)", i) << '\n';
        out << R"({"ph":"X","name":"x","pid":1,"tid":1,"ts":1,"dur":1}])";
    }
    std::size_t least = 32; // that the program itself needs
    while (runWithin(least, {"--version"}).exit_code != 0)
        least += 8;
    int short_of_it = 0;
    int enough = 0;
    for (std::size_t mebibytes = least; enough < 2; mebibytes += 16) {
        ASSERT_LT(mebibytes, least + 1024);
        const ProgramResult result = runWithin(mebibytes, {"info", file});
        enough += result.exit_code == 0 ? 1 : 0;
        if (result.exit_code == 0) continue;
        ++short_of_it;
        EXPECT_EQ(result.exit_code, 3) << mebibytes << " MiB: " << result.err;
        EXPECT_THAT(result.err, AnyOf(HasSubstr("not enough memory"), HasSubstr("exceeds the available memory")))
            << mebibytes << " MiB";
    }
    EXPECT_GT(short_of_it, 0);
}

/// A hole takes no room on the disk, so a few bytes can claim any length.
TEST(Memory, HolesAreNotReadEvenWhereTheFileCannotBeMapped) {
    if (kSanitized) GTEST_SKIP() << "sanitizers need all addresses";
    const ScratchFolder folder;
    const std::string file = folder.write("sparse.json", "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]").string();
    for (const std::uintmax_t size : {std::uintmax_t{100} << 10, std::uintmax_t{1} << 40}) {
        std::filesystem::resize_file(file, size);
        for (const std::size_t mebibytes : {std::size_t{512}, std::size_t{8} << 20}) {
            const ProgramResult result = runWithin(mebibytes, {"info", file, "--json"});
            EXPECT_EQ(result.exit_code, 0) << size << " bytes, " << mebibytes << " MiB: " << result.err;
            EXPECT_THAT(result.out, HasSubstr("ends with a hole")) << size << " bytes, " << mebibytes << " MiB";
        }
    }
}

} // namespace
} // namespace bubblescope::test
