#include "core/base/wire.h"
#include "core/recognise/found_wire.h"
#include "core/recognise/partitioned_trace.h"
#include "core/recognise/pieces.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {
namespace {

std::vector<InputFile> filesOf(const std::vector<std::uint64_t>& megabytes) {
    std::vector<InputFile> files;
    for (const std::uint64_t size : megabytes)
        files.push_back({"file", false, size << 20});
    return files;
}

using Begins = std::vector<std::size_t>;

TEST(PartitionFiles, SpreadsWorkEvenly) {
    EXPECT_EQ(partitionFiles(filesOf({1, 1, 1, 1, 1, 1, 1, 1}), 1), (Begins{0, 8}));
    EXPECT_EQ(partitionFiles(filesOf({1, 1, 1, 1, 1, 1, 1, 1}), 2), (Begins{0, 3, 8})) << "the first has other work";
    EXPECT_EQ(partitionFiles(filesOf({1, 1, 1, 1, 1, 1, 1, 1}), 4), (Begins{0, 1, 4, 7, 8}));
    EXPECT_EQ(partitionFiles(filesOf(std::vector<std::uint64_t>(56, 1)), 8), (Begins{0, 0, 8, 16, 24, 32, 40, 48, 56}));
    EXPECT_EQ(partitionFiles(filesOf({8, 1, 1, 1, 1, 1, 1, 2}), 2), (Begins{0, 1, 8}));
    EXPECT_EQ(partitionFiles(filesOf({1, 1, 1, 9}), 3), (Begins{0, 3, 4, 4})) << "the last has none left";
    EXPECT_EQ(partitionFiles(filesOf({5}), 3), (Begins{0, 1, 1, 1})) << "nothing to put together";
    EXPECT_EQ(partitionFiles(filesOf({0, 0, 0, 0}), 4), (Begins{0, 1, 3, 4, 4})) << "sizes are not known";
}

TEST(PartitionFiles, NoOtherCutHasASmallerLargestPart) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint64_t> sizes(2 + random() % 7);
        for (std::uint64_t& size : sizes)
            size = 1 + random() % 9;
        constexpr std::uint64_t kOpen = 4096; // what a file costs besides its bytes
        std::uint64_t all = 0;
        for (const std::uint64_t size : sizes)
            all += (size << 20) + kOpen;
        const auto largest = [&](std::size_t a, std::size_t b) {
            std::vector<std::uint64_t> sums(3);
            for (std::size_t i = 0; i < sizes.size(); ++i)
                sums[i < a ? 0 : i < b ? 1 : 2] += (sizes[i] << 20) + kOpen;
            if (a > 0) sums[0] += all / 4;
            return std::max({sums[0], sums[1], sums[2]});
        };
        std::uint64_t best = ~std::uint64_t{0};
        for (std::size_t a = 0; a <= sizes.size(); ++a) {
            for (std::size_t b = a; b <= sizes.size(); ++b)
                best = std::min(best, largest(a, b));
        }
        const Begins begins = partitionFiles(filesOf(sizes), 3);
        ASSERT_EQ(begins.size(), 4U);
        EXPECT_EQ(begins.back(), sizes.size());
        EXPECT_EQ(largest(begins[1], begins[2]), best);
    }
}

TEST(PartitionFiles, StandardInputStaysWithTheFirst) {
    auto files = filesOf({1, 0, 1});
    files[1].path = "-";
    EXPECT_EQ(partitionFiles(files, 2), (Begins{0, 3, 3}));
}

TEST(Wire, ValuesComeBackAsTheyWere) {
    const std::map<std::string, std::vector<std::pair<TimeNs, std::optional<double>>>> value{
        {"a", {{TimeNs{-5}, 0.1}, {TimeNs{7}, std::nullopt}}}, {std::string("\0b", 2), {}}};
    const Error error = inputError("file, byte 3", "is broken", "mend it");
    WireWriter out;
    out(value, error, Rank{3}, true, std::filesystem::path("a/b"), std::array<int, 2>{1, -2});
    const std::string bytes = out.take();

    WireReader in(bytes);
    std::remove_const_t<decltype(value)> seen;
    Error seen_error;
    Rank rank;
    bool flag = false;
    std::filesystem::path path;
    std::array<int, 2> numbers{};
    in(seen, seen_error, rank, flag, path, numbers);
    EXPECT_TRUE(in.done());
    EXPECT_EQ(seen, value);
    EXPECT_EQ(seen_error.text(), error.text());
    EXPECT_EQ(rank, Rank{3});
    EXPECT_TRUE(flag);
    EXPECT_EQ(path, "a/b");
    EXPECT_EQ(numbers, (std::array<int, 2>{1, -2}));

    for (std::size_t length = 0; length < bytes.size(); ++length) {
        WireReader cut(std::string_view(bytes).substr(0, length));
        cut(seen, seen_error, rank, flag, path, numbers);
        EXPECT_TRUE(cut.failed()) << length;
    }
}

FoundOp opOf(std::int64_t i) {
    FoundOp op;
    op.owner = i;
    op.step = 3 * i;
    op.kind = i % 2 == 0 ? OpKind::Forward : OpKind::BackwardInput;
    op.microbatch = i + 1;
    op.chunk_or_stage = i + 2;
    op.start = TimeNs{std::int64_t{1} << 50} * i;
    op.end = op.start + TimeNs{7};
    op.sequence = i + 4;
    op.overlapped = i % 3 == 0;
    op.replica = i + 5;
    return op;
}

std::array<std::int64_t, 13> numbersOf(const FoundOpList& list, std::size_t i) {
    const BareFoundOp& op = list.ops()[i];
    const OpDetails& details = list.detailsOf(op);
    return {op.owner,
            op.step,
            static_cast<int>(op.kind),
            op.microbatch,
            op.chunk_or_stage,
            op.start.count(),
            op.end.count(),
            op.sequence,
            op.overlapped ? 1 : 0,
            op.replica,
            details.lateness.count(),
            details.device_idle.count(),
            details.exposed_comm.count()};
}
std::array<std::int64_t, 10> numbersOf(const std::vector<FoundComm>& list, std::size_t i) {
    const FoundComm& comm = list[i];
    return {comm.owner,      comm.step,   static_cast<int>(comm.kind), static_cast<int>(comm.payload),
            comm.microbatch, comm.stage,  comm.start.count(),          comm.end.count(),
            comm.sequence,   comm.replica};
}

/// The bytes that these take.
template <class List>
std::size_t sentAndReceived(const List& found) {
    WireWriter out;
    wireFound(out, found);
    const std::string bytes = out.take();
    WireReader in(bytes);
    List seen;
    wireFound(in, seen);
    EXPECT_TRUE(in.done());
    EXPECT_EQ(seen.size(), found.size());
    for (std::size_t i = 0; i < seen.size() && i < found.size(); ++i)
        EXPECT_EQ(numbersOf(seen, i), numbersOf(found, i)) << i;
    for (std::size_t length = 0; length < bytes.size(); length += 5) {
        WireReader cut(std::string_view(bytes).substr(0, length));
        wireFound(cut, seen);
        EXPECT_TRUE(cut.failed()) << length;
    }
    return bytes.size();
}

TEST(FoundWire, OpsComeBackAsTheyWereAndDetailsAreSentWhereThereAreAny) {
    std::vector<FoundOp> ops;
    for (int i = 0; i < 100; ++i)
        ops.push_back(opOf(i));
    EXPECT_EQ(sentAndReceived(FoundOpList(ops)), ops.size() * sizeof(BareFoundOp) + 2 * sizeof(std::uint64_t));
    ops[7].details.lateness = TimeNs{-5};
    ops[8].details.device_idle = TimeNs{6};
    ops[9].details.exposed_comm = TimeNs{7};
    sentAndReceived(FoundOpList(ops));
    ops[50].microbatch = std::int64_t{1} << 40; // a damaged number stays damaged
    EXPECT_EQ(ops[50].microbatch, INT32_MAX);
    sentAndReceived(FoundOpList(ops));
    sentAndReceived(FoundOpList());
}

TEST(FoundWire, TransfersComeBackAsTheyWere) {
    std::vector<FoundComm> comm;
    for (std::int64_t i = 0; i < 100; ++i) {
        comm.push_back({i, i + 1, i % 2 == 0 ? CommKind::Send : CommKind::Wait,
                        i % 3 == 0 ? Payload::Gradient : Payload::Activation, i + 2, i + 3, TimeNs{4 * i},
                        TimeNs{5 * i}, i + 6, i + 7});
    }
    EXPECT_EQ(sentAndReceived(comm), comm.size() * sizeof(FoundComm) + sizeof(std::uint64_t));
    comm[3].owner = INT64_MIN;
    sentAndReceived(comm);
}

TEST(Pieces, AreOneListAndAreFreedAsTheyAreUsed) {
    Pieces<int> pieces;
    EXPECT_TRUE(pieces.empty());
    EXPECT_TRUE(pieces.begin() == pieces.end());
    pieces.append({1, 2});
    pieces.append(std::vector<int>{});
    pieces.append({3});
    pieces.push_back(4);
    pieces.append({5, 6, 7});
    EXPECT_EQ(pieces.size(), 7U);
    EXPECT_EQ(std::vector<int>(pieces.begin(), pieces.end()), (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
    pieces.eraseIf([](int value) { return value == 3 || value == 4 || value > 5; }); // leaves an empty piece
    const Pieces<int>& fixed = pieces;
    EXPECT_EQ(std::vector<int>(fixed.begin(), fixed.end()), (std::vector<int>{1, 2, 5}));
    std::vector<int> used;
    pieces.consume([&](const std::vector<int>& list) { used.insert(used.end(), list.begin(), list.end()); });
    EXPECT_EQ(used, (std::vector<int>{1, 2, 5}));
    EXPECT_TRUE(pieces.empty());
}

} // namespace
} // namespace bubblescope
