// Sums of gradients on the emulated device: they do not depend on what checks keep of them, and kept sums do not
// change.

#include "runtime/model/parameters.h"
#include "tests/gpu/test_device.h"
#include "tests/support/emulated_device.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace bubblescope::runtime::test {
namespace {

using Use = GradientSum::Use;

/// Two layers, the first with a gap between its weights and its bias.
std::vector<FlatPart> layout() {
    std::vector<FlatPart> parts(2);
    parts[0].rows = 5;
    parts[0].columns = 1;
    parts[0].bias = 8;
    parts[0].bias_size = 2;
    parts[1].rows = 3;
    parts[1].columns = 2;
    parts[1].weight = 16;
    parts[1].bias = 22;
    return parts;
}
constexpr std::int64_t kSize = 24;

class KeptSums : public testing::Test {
protected:
    struct Look {
        GradientSum::Kept sums;
        std::int64_t count;
        std::vector<float> seen;
    };

    void add(const FlatPart& part, GradientSum::Target target, float value) {
        const auto addTo = [&](std::int64_t place, std::int64_t count) {
            if (count == 0) return;
            const Buffer gradient = queue_->pool().take(count * 4);
            queue_->launch(FillKernel{gradient.as<float>(), count, value});
            if (const float* const before = target.beforeAt(place); before == nullptr) {
                queue_->device().zero(target.column + place, count * 4, queue_->stream());
            } else if (before != target.column + place) {
                queue_->device().copy(target.column + place, before, count * 4, queue_->stream());
            }
            queue_->launch(AddKernel{target.column + place, gradient.as<float>(), count});
        };
        addTo(part.weight, part.weightSize());
        addTo(part.bias, part.bias_size);
    }
    [[nodiscard]] std::vector<float> read(const float* from, std::int64_t count) {
        std::vector<float> values(static_cast<std::size_t>(count));
        queue_->device().copyOut(values.data(), from, count * 4, queue_->stream());
        return values;
    }
    void expectUnchanged(const Look& look) { EXPECT_EQ(read(look.sums.values, look.count), look.seen); }

    std::shared_ptr<EmulatedDevice> device_ = std::make_shared<EmulatedDevice>(3U);
    std::shared_ptr<RankQueue> queue_ = makeQueue(device_);
    std::vector<FlatPart> parts_ = layout();
};

TEST_F(KeptSums, DoNotChangeAndChangeNothing) {
    std::mt19937 random(9);
    constexpr int kPieces = 5;
    std::vector<Piece> order;
    for (int piece = 0; piece < kPieces; ++piece)
        order.push_back({Microbatch{piece}});
    for (int run = 0; run < 300; ++run) {
        GradientSum sums(*queue_, order, kSize);
        std::vector<Piece> computed = order;
        if (run % 3 == 0) std::ranges::shuffle(computed, random);
        std::vector<Look> looks;
        for (const Piece& piece : computed) {
            sums.begin(piece);
            for (const FlatPart& part : parts_) {
                const auto use = static_cast<Use>(random() % 3);
                const GradientSum::RangeTarget to = sums.target({&part, 1}, use);
                add(part, to.target, static_cast<float>(1 << piece.sample.value));
                if (use != Use::IsKept) continue;
                const FlatRun range = runOf({&part, 1});
                for (const GradientSum::Kept& kept : {to.before, to.after}) {
                    if (kept.memory) looks.push_back({kept, range.size, read(kept.values, range.size)});
                }
            }
            sums.end(piece);
            while (!looks.empty() && random() % 2 == 0) {
                expectUnchanged(looks.back());
                looks.pop_back();
            }
        }
        const Buffer sum = sums.take();
        for (const Look& look : looks)
            expectUnchanged(look);
        std::vector<float> expected(kSize, 0.0F);
        for (const FlatPart& part : parts_) {
            std::fill_n(expected.begin() + part.weight, part.weightSize(), 31.0F);
            std::fill_n(expected.begin() + part.bias, part.bias_size, 31.0F);
        }
        ASSERT_EQ(read(sum.as<float>(), kSize), expected) << "gaps are zero; run " << run;
        looks.clear();
    }
}

// Checks of some pieces, announced from the start, as layers are captured. The sums of a check are released at once,
// after a piece, or never.
TEST_F(KeptSums, AreNotCopied) {
    struct Copies final : DeviceObserver {
        std::uint32_t called(Kind kind, bool /*graph*/) override { return copies += kind == Kind::Copy ? 1 : 0; }
        void ran(const Work& /*work*/) override {}
        void idleAt(TimeNs /*now*/) override {}
        std::uint32_t copies = 0;
    };
    const std::vector<Piece> order{{Microbatch{0}}, {Microbatch{1}}, {Microbatch{2}}, {Microbatch{3}}};
    for (unsigned checked = 0; checked < 3U << order.size(); ++checked) {
        const std::size_t released_after = checked >> order.size();
        const auto isChecked = [&](std::size_t piece) { return (checked >> piece & 1U) != 0; };
        GradientSum sums(*queue_, order, kSize);
        const auto copies = std::make_shared<Copies>();
        device_->observer = copies;
        std::vector<GradientSum::RangeTarget> kept;
        for (std::size_t piece = 0; piece < order.size(); ++piece) {
            sums.begin(order[piece]);
            bool later = false;
            for (std::size_t next = piece + 1; next < order.size(); ++next)
                later = later || isChecked(next);
            const GradientSum::RangeTarget to = sums.target(parts_, isChecked(piece) ? Use::IsKept
                                                                    : later          ? Use::IsKeptLater
                                                                                     : Use::Adds);
            if (isChecked(piece)) kept.push_back(to);
            if (released_after < 2 && kept.size() > released_after) kept.erase(kept.begin());
            sums.end(order[piece]);
        }
        kept.clear();
        (void)sums.take();
        EXPECT_EQ(copies->copies, 0U) << checked;
        device_->observer.reset();
        queue_->finish();
    }
}

} // namespace
} // namespace bubblescope::runtime::test
