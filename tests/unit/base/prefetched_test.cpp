#include "core/base/prefetched.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace bubblescope {
namespace {

using Batch = std::vector<int>;

/// Puts batches that count up, until `count` of them or no more are wanted.
int produce(BatchQueue<Batch>& out, int count) {
    Batch batch;
    for (int i = 0; i < count; ++i) {
        batch.assign(10, i);
        if (!out.put(batch)) return i;
    }
    return count;
}

TEST(Prefetched, HandsOverAllInOrder) {
    std::vector<int> seen;
    prefetched<Batch>([](BatchQueue<Batch>& out) { produce(out, 1000); },
                      [&seen](const Batch& batch) {
                          EXPECT_EQ(batch.size(), 10U);
                          EXPECT_EQ(batch.front(), batch.back());
                          seen.push_back(batch.front());
                          return true;
                      });
    std::vector<int> all(1000);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
}

TEST(Prefetched, NeedsNoThreadForLittle) {
    const std::thread::id here = std::this_thread::get_id();
    int used = 0;
    prefetched<Batch>(
        [here](BatchQueue<Batch>& out) {
            EXPECT_EQ(std::this_thread::get_id(), here);
            EXPECT_EQ(produce(out, 100), 6) << "the seventh is not wanted any more";
        },
        [&used](const Batch& batch) {
            EXPECT_EQ(batch.front(), used);
            return ++used < 7;
        },
        false);
    EXPECT_EQ(used, 7);
}

TEST(Prefetched, StopsTheMakerWhenNoMoreIsWanted) {
    int made = 0;
    int used = 0;
    prefetched<Batch>([&made](BatchQueue<Batch>& out) { made = produce(out, 1'000'000); },
                      [&used](const Batch&) { return ++used < 3; });
    EXPECT_EQ(used, 3);
    EXPECT_LT(made, 100) << "the maker is never more than a few batches ahead";
}

TEST(Prefetched, PassesOnWhatEitherThrows) {
    int used = 0;
    const auto fail = [](BatchQueue<Batch>& out) {
        produce(out, 2);
        throw std::runtime_error("made badly");
    };
    EXPECT_THROW(prefetched<Batch>(fail, [&used](const Batch&) { return ++used > 0; }), std::runtime_error);
    EXPECT_EQ(used, 2) << "what was made before is used";
    const auto endless = [](BatchQueue<Batch>& out) { produce(out, 1'000'000); };
    EXPECT_THROW(prefetched<Batch>(endless, [](const Batch&) -> bool { throw std::logic_error("used badly"); }),
                 std::logic_error);
}

TEST(Prefetched, TakesTurnsAmongMakers) {
    const auto upTo = [](int first, int end) {
        return [first, end](BatchQueue<Batch>& out) {
            for (int i = first; i < end; i += 2) {
                Batch batch{i};
                if (!out.put(batch)) return;
            }
        };
    };
    std::vector<int> seen;
    const std::vector<std::function<void(BatchQueue<Batch>&)>> makers{upTo(0, 101), upTo(1, 101)};
    prefetched<Batch>(makers, [&seen](const Batch& batch) {
        seen.push_back(batch.front());
        return true;
    });
    std::vector<int> all(101);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all) << "it ends with the first whose turn it is and that has no more";
}

TEST(Prefetched, MayMakeNothing) {
    prefetched<Batch>([](BatchQueue<Batch>&) {},
                      [](const Batch&) {
                          ADD_FAILURE() << "nothing was made";
                          return true;
                      });
}

} // namespace
} // namespace bubblescope
