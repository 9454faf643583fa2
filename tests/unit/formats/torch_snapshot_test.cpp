// Snapshots of PyTorch's memory, and the pickle format that they come in.

#include "core/formats/read_trace.h"
#include "core/formats/snapshot/pickle.h"
#include "core/formats/snapshot/reader.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using snapshot::Pickle;

const std::string& sample() {
    static const std::string bytes = test::readAll(test::dataDir() / "snapshots" / "torch_snapshot.pickle");
    return bytes;
}

/// The values of the only counter, with times in microseconds after the first.
std::vector<std::pair<std::int64_t, double>> valuesOf(const std::filesystem::path& file) {
    JobControl control;
    const auto read = readTraces({file}, control);
    EXPECT_TRUE(read.ok()) << read.error().text();
    std::vector<std::pair<std::int64_t, double>> values;
    if (!read.ok() || read.value().trace->counters().size() != 1) return values;
    const CounterSeries& series = read.value().trace->counters()[0];
    EXPECT_EQ(read.value().trace->text(series.name), "allocated memory");
    for (std::size_t i = 0; i < series.times.size(); ++i)
        values.emplace_back((series.times[i] - series.times[0]).count() / 1000, series.values[i]);
    return values;
}

/// It ends with 3,000 bytes in use; 1,500 of them were allocated before the history begins.
TEST(TorchSnapshot, BecomesACounter) {
    using Values = std::vector<std::pair<std::int64_t, double>>;
    EXPECT_EQ(valuesOf(test::dataDir() / "snapshots" / "torch_snapshot.pickle"),
              (Values{{0, 1500}, {0, 2500}, {1000, 6500}, {2500, 2500}, {3000, 3000}}));
}

TEST(TorchSnapshot, ReadsOnlyPlainData) {
    EXPECT_TRUE(snapshot::looksLikePickle(sample()));
    const auto refused = [](const std::string& bytes) { return !Pickle::parse(bytes, "test").ok(); };
    // os.system("true"), pickled.
    using namespace std::string_literals;
    EXPECT_TRUE(refused("\x80\x02"
                        "cposix\nsystem\nX\x04\x00\x00\x00true\x85R."s));
    for (std::size_t length = 0; length < sample().size(); ++length)
        EXPECT_TRUE(refused(sample().substr(0, length))) << length;
    // Opcodes that take more from the stack than there is: SETITEMS, TUPLE3, APPEND, BINGET, MEMOIZE.
    for (const char* const bytes :
         {"\x80\x02}u.", "\x80\x02N\x87.", "\x80\x02\x61.", "\x80\x02h\x07.", "\x80\x02\x94."})
        EXPECT_TRUE(refused(bytes)) << bytes;
}

TEST(TorchSnapshot, IsNamedIfItIsAnotherPickle) {
    const test::ScratchFolder folder;
    JobControl control;
    const auto read = readTraces({folder.write("weights.pickle", std::string("\x80\x04}.", 4))}, control);
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.error().text().find("not a PyTorch memory snapshot"), std::string::npos);
}

} // namespace
} // namespace bubblescope
