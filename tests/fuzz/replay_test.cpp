// The corpus and past findings through every reader, with any compiler: what was once fixed stays fixed.

#include "tests/fuzz/targets.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> filesIn(const fs::path& folder) {
    std::vector<fs::path> files;
    if (!fs::is_directory(folder)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

class Replay : public testing::TestWithParam<fuzz::Target> {
protected:
    static void run(const fs::path& file, std::string_view bytes) {
        try {
            GetParam().run(bytes);
        } catch (const std::exception& broken) {
            ADD_FAILURE() << file << ", " << bytes.size() << " bytes: " << broken.what();
        }
    }
};

TEST_P(Replay, KeepsItsPromisesOnTheCorpus) {
    const fs::path folder = fs::path(BUBBLESCOPE_FUZZ_DATA) / "corpus" / GetParam().name;
    const std::vector<fs::path> files = filesIn(folder);
    EXPECT_FALSE(files.empty()) << "no seeds in " << folder;
    for (const fs::path& file : files) {
        const std::string bytes = test::readAll(file);
        run(file, bytes);
        for (std::size_t part = 1; part < 8; ++part) // cut off
            run(file, std::string_view(bytes).substr(0, bytes.size() * part / 8));
    }
}

TEST_P(Replay, KeepsItsPromisesOnPastFindings) {
    for (const fs::path& file : filesIn(fs::path(BUBBLESCOPE_FUZZ_DATA) / "findings" / GetParam().name))
        run(file, test::readAll(file));
}

// Every reader also receives the inputs of the others.
TEST_P(Replay, KeepsItsPromisesOnForeignFiles) {
    for (const fs::path& file : filesIn(fs::path(BUBBLESCOPE_FUZZ_DATA) / "corpus"))
        run(file, test::readAll(file));
}

std::string nameOf(const testing::TestParamInfo<fuzz::Target>& target) {
    return std::string(target.param.name);
}
INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(fuzz::targets().begin(), fuzz::targets().end()), nameOf);
INSTANTIATE_TEST_SUITE_P(Settings, Replay, testing::Values(fuzz::Target{"config_file", fuzz::configFile}), nameOf);

} // namespace
} // namespace bubblescope
