#include "core/aadiff/compare.h"

#include "tests/support/checked_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

using test::CheckedRun;

bool sameNumber(const DigestRecord& a, const DigestRecord& b) {
    return a.step == b.step && a.op.microbatch == b.op.microbatch && a.layer == b.layer && a.tensor == b.tensor;
}

/// A run in which one number is wrong.
CheckedRun struck(CheckedRun run, const DigestRecord& where, std::uint64_t flip = 1) {
    run.fault = [where, flip, before = run.fault](const DigestRecord& made) {
        const std::uint64_t value = before ? before(made) : made.digest;
        return sameNumber(where, made) ? value ^ flip : value;
    };
    return run;
}

DigestComparison compareOf(const CheckedRun& a, const CheckedRun& b) {
    const std::vector<DigestRecord> of_a = a.digests();
    const std::vector<DigestRecord> of_b = b.digests();
    DigestComparison result = compareDigests({of_a, a.info()}, {of_b, b.info()});
    for (DigestDifference& root : result.roots) // they must not refer to deleted texts
        EXPECT_NE(root.a.digest, root.b.digest);
    return result;
}

TEST(CompareDigests, CountsWhatIsEqual) {
    const CheckedRun run;
    const DigestComparison result = compareOf(run, run);
    EXPECT_EQ(result.compared, static_cast<std::int64_t>(run.digests().size()));
    EXPECT_EQ(result.differing, 0);
    EXPECT_EQ(result.root_count, 0);
    EXPECT_EQ(result.only_a + result.only_b + result.contradictory, 0);
    EXPECT_EQ(result.steps, 2);
    EXPECT_TRUE(result.caveats.empty());
    EXPECT_FALSE(result.unexpected());
}

// Whatever number is wrong, it is the first difference, and all others follow from it.
TEST(CompareDigests, FindsEveryFaultAndExplainsTheRest) {
    CheckedRun run;
    run.spec = {"1f1b", "", 3, 3, 1};
    const std::vector<DigestRecord> clean = run.digests();
    for (const DigestRecord& where : clean) {
        const DigestComparison result = compareOf(run, struck(run, where));
        ASSERT_EQ(result.root_count, 1) << where.step << " " << opName(where.op) << " " << where.layer << where.tensor;
        EXPECT_TRUE(sameNumber(result.roots.front().a, where))
            << where.step << " " << opName(where.op) << " " << where.layer << " " << where.tensor << " but found "
            << opName(result.roots.front().a.op) << " " << result.roots.front().a.layer;
        EXPECT_TRUE(result.unexpected());
        std::int64_t differing = 0;
        for (const DigestSpread& row : result.spread)
            differing += row.differing;
        EXPECT_EQ(differing, result.differing);
    }
}

TEST(CompareDigests, TellsIndependentFaultsApart) {
    CheckedRun run;
    const std::vector<DigestRecord> clean = run.digests();
    const auto find = [&](OpKind kind, int mb, int layer, const std::string& tensor) {
        return *std::ranges::find_if(clean, [&](const DigestRecord& record) {
            return record.step == 0 && record.op.kind == kind && record.op.microbatch.value == mb &&
                   record.layer == layer && record.tensor == tensor;
        });
    };
    // Two micro-batches; the later one's fault is in a lower layer.
    const DigestRecord one = find(OpKind::Forward, 0, 5, "output");
    const DigestRecord other = find(OpKind::Forward, 2, 1, "output");
    const DigestComparison result = compareOf(run, struck(struck(run, one), other, 2));
    ASSERT_EQ(result.root_count, 2);
    EXPECT_TRUE(sameNumber(result.roots[0].a, one));
    EXPECT_TRUE(sameNumber(result.roots[1].a, other));

    // A weight gradient explains no other backward.
    const DigestRecord weight = find(OpKind::Backward, 1, 6, "weight gradient");
    const DigestRecord below = find(OpKind::Backward, 1, 2, "input gradient");
    EXPECT_EQ(compareOf(run, struck(struck(run, weight), below, 4)).root_count, 2);
    // But an input gradient explains what is below it.
    const DigestRecord input = find(OpKind::Backward, 1, 6, "input gradient");
    EXPECT_EQ(compareOf(run, struck(struck(run, input), below, 4)).root_count, 1);
}

TEST(CompareDigests, HoldsAcrossSchedulesAndRankCounts) {
    CheckedRun one;
    one.spec = {"1f1b", "", 2, 4, 1};
    one.layers = 4;
    for (const ScheduleSpec& spec : {ScheduleSpec{"gpipe", "", 4, 4, 1}, ScheduleSpec{"zb-h1", "", 4, 4, 1},
                                     ScheduleSpec{"interleaved", "", 2, 4, 2}, ScheduleSpec{"zb-v", "", 2, 4, 2},
                                     ScheduleSpec{"1f1b", "", 8, 4, 1}}) {
        CheckedRun other;
        other.spec = spec;
        other.layers = 8 / (spec.pp * spec.vpp);
        const DigestComparison result = compareOf(one, other);
        EXPECT_EQ(result.differing, 0) << spec.name;
        EXPECT_EQ(result.compared, static_cast<std::int64_t>(one.digests().size())) << spec.name;
        EXPECT_EQ(result.only_a + result.only_b, 0) << spec.name;
        EXPECT_TRUE(result.caveats.empty()) << spec.name;
    }
}

TEST(CompareDigests, SaysWhereEqualBitsAreNotToBeExpected) {
    CheckedRun one;
    CheckedRun two;
    two.spec = {"chimera", "", 4, 4, 2};
    two.layers = 1;
    const DigestComparison result = compareOf(one, two);
    ASSERT_EQ(result.caveats.size(), 1U);
    EXPECT_TRUE(result.equal_before_optimizer);

    const std::vector<DigestRecord> clean = one.digests();
    std::vector<DigestRecord> changed = clean;
    RunInfo info = one.info();
    info.placement = two.info().placement;
    // From the optimizer on, a difference is expected; before it, it is not.
    for (DigestRecord& record : changed)
        record.digest ^= record.step > 0 || record.op.kind == OpKind::Optimizer ? 1U : 0U;
    EXPECT_FALSE(compareDigests({clean, one.info()}, {changed, info}).unexpected());
    EXPECT_TRUE(compareDigests({clean, one.info()}, {changed, one.info()}).unexpected());
    changed.front().digest ^= 1;
    EXPECT_TRUE(compareDigests({clean, one.info()}, {changed, info}).unexpected());

    for (DigestRecord& record : changed)
        record.tensor_rank = 1;
    changed.push_back(clean.front());
    const DigestComparison tensor = compareDigests({clean, one.info()}, {changed, one.info()});
    EXPECT_FALSE(tensor.equal_before_optimizer);
    EXPECT_EQ(tensor.compared, 1);
}

TEST(CompareDigests, CountsReplicasThrough) {
    CheckedRun wide; // 4 micro-batches
    wide.steps = 1;
    std::vector<DigestRecord> split = wide.digests(); // as two replicas with 2 each
    for (DigestRecord& record : split) {
        if (record.op.kind == OpKind::Optimizer) continue;
        record.replica = record.op.microbatch.value / 2;
        record.op.microbatch = Microbatch{record.op.microbatch.value % 2};
    }
    const std::vector<DigestRecord> whole = wide.digests();
    RunInfo info = wide.info();
    info.dp = 2;
    info.microbatches = 2;
    const DigestComparison result = compareDigests({whole, wide.info()}, {split, info});
    EXPECT_EQ(result.compared, static_cast<std::int64_t>(whole.size()));
    EXPECT_EQ(result.differing, 0);
    ASSERT_EQ(result.caveats.size(), 1U);
    EXPECT_TRUE(result.equal_before_optimizer);
}

TEST(CompareDigests, CountsWhatOneRunLacksOrContradicts) {
    const CheckedRun run;
    const std::vector<DigestRecord> whole = run.digests();
    std::vector<DigestRecord> part(whole.begin() + 10, whole.end());
    part.push_back(part.front()); // stated twice
    part.push_back(part[1]);
    part.back().digest ^= 1; // stated twice, with different values
    const DigestComparison result = compareDigests({whole, run.info()}, {part, run.info()});
    EXPECT_EQ(result.only_a, 11);
    EXPECT_EQ(result.only_b, 0);
    EXPECT_EQ(result.contradictory, 1);
    EXPECT_EQ(result.differing, 0);
    EXPECT_EQ(result.compared, static_cast<std::int64_t>(whole.size()) - 11);
}

TEST(CompareDigests, KeepsManyRootsInBounds) {
    CheckedRun run;
    run.spec.microbatches = 200;
    run.steps = 1;
    std::vector<DigestRecord> other = run.digests();
    for (DigestRecord& record : other)
        record.digest ^= 1;
    const std::vector<DigestRecord> clean = run.digests();
    const DigestComparison result = compareDigests({clean, run.info()}, {other, run.info()});
    EXPECT_EQ(result.root_count, 200);
    EXPECT_EQ(result.roots.size(), DigestComparison::kMaxRoots);
}

} // namespace
} // namespace bubblescope
