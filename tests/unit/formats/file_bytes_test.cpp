#include "core/formats/source/file_bytes.h"

#include "core/formats/read_trace.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/formats/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {
namespace {

/// The bytes of a file, which is opened separately.
enum class Kind { Read, Mapped, Unpacked, UnpackedAhead };
constexpr std::array kKinds{Kind::Read, Kind::Mapped, Kind::Unpacked, Kind::UnpackedAhead};

std::string nameOf(Kind kind) {
    switch (kind) {
    case Kind::Read: return "read";
    case Kind::Mapped: return "mapped";
    case Kind::Unpacked: return "unpacked";
    case Kind::UnpackedAhead: return "unpacked ahead";
    }
    return {};
}

bool isPacked(Kind kind) {
    return kind == Kind::Unpacked || kind == Kind::UnpackedAhead;
}

std::size_t sizeOf(Kind kind) {
    return kind == Kind::Mapped || kind == Kind::UnpackedAhead ? std::size_t{4} << 20 : std::size_t{100} << 10;
}

std::string contentOf(Kind kind, std::string_view text) {
    return isPacked(kind) ? test::gzipped(text) : std::string(text);
}

/// Which packing halves at most.
std::string noise(std::size_t size) {
    std::mt19937 random(17);
    std::string text(size, '\0');
    for (char& letter : text)
        letter = static_cast<char>('!' + random() % 64);
    return text;
}

TEST(FileBytes, OnceCutAreThoseOfAShorterFile) {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    for (const Kind kind : kKinds) {
        SCOPED_TRACE(nameOf(kind));
        const test::ScratchFolder folder;
        const std::string text = noise(sizeOf(kind));
        const auto file = folder.write("file", contentOf(kind, text));
        for (const std::size_t size : {std::size_t{1}, text.size() / 3, text.size() - 1, text.size(), kAll}) {
            SCOPED_TRACE(size);
            DiagnosticLog log;
            JobControl control;
            LoadProgress progress(control, 0);
            auto opened = openFileBytes(file, log, progress);
            ASSERT_TRUE(opened.ok()) << opened.error().text();
            FileBytes& bytes = opened.value();
            ASSERT_EQ(bytes.mapped(), kind == Kind::Mapped);
            ASSERT_EQ(bytes.complete(), kind != Kind::UnpackedAhead);
            bytes.cut(size);
            EXPECT_EQ(bytes.complete(), kind != Kind::UnpackedAhead || size <= bytes.text().size());
            EXPECT_LE(bytes.expectedSize(), size);
            EXPECT_LE(bytes.text().size(), size);
            ASSERT_TRUE(bytes.extend(kAll).ok());
            EXPECT_TRUE(bytes.complete());
            EXPECT_TRUE(bytes.text() == std::string_view(text).substr(0, size));
            EXPECT_TRUE(log.take().empty());
        }
    }
}

TEST(FileBytes, OfJsonGiveTheEventsThatTheirBeginningHolds) {
    for (const Kind kind : kKinds) {
        SCOPED_TRACE(nameOf(kind));
        std::mt19937 random(3);
        std::string text = "[\n";
        std::vector<std::size_t> ends; // of events
        for (int i = 0; text.size() < sizeOf(kind); ++i) {
            if (i > 0) text += ",\n";
            text += R"({"ph":"X","pid":1,"tid":1,"name":"op)" + std::to_string(random()) + R"(","ts":)" +
                    std::to_string(10 * i) + R"(,"dur":)" + std::to_string(1 + random() % 9) + "}";
            ends.push_back(text.size());
        }
        text += "\n]\n";
        const test::ScratchFolder folder;
        InputFile file;
        file.path = folder.write("trace.json", contentOf(kind, text));
        file.named = true;
        file.bytes = std::filesystem::file_size(file.path);
        for (const std::size_t size : {ends.front() + 3, text.size() / 3, text.size() - 1, text.size() + 5}) {
            SCOPED_TRACE(size);
            file.first_bytes = size;
            JobControl control;
            auto read = readFiles({&file, 1}, control);
            ASSERT_TRUE(read.ok());
            ASSERT_EQ(read.value().outcomes.size(), 1U);
            const FileOutcome& outcome = read.value().outcomes.front();
            ASSERT_FALSE(outcome.unusable) << outcome.unusable->text();
            DiagnosticLog log;
            const auto trace = read.value().builder.finish(log);
            const auto whole = std::ranges::upper_bound(ends, size) - ends.begin();
            EXPECT_EQ(trace->sliceCount(), static_cast<std::size_t>(whole));
            EXPECT_EQ(trace->start(static_cast<SliceId>(whole - 1)), TimeNs{10'000 * (whole - 1)});
        }
    }
}

} // namespace
} // namespace bubblescope
