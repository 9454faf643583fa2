// What a collector of a whole job takes, where others put the steps of some replicas each together for it: time and
// memory per step.
//
//   share_load [REPLICAS [STEPS [COLLECTORS]]]      of 16 ranks each
//
// Prints a JSON document.

#include "core/live/live_analyzer.h"
#include "tests/bench/load_tools.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::bench;
using namespace bubblescope::live;
using namespace std::chrono_literals;

constexpr int kRanks = 16;

/// What a collector says of a step: every number differs a little, as real ones do.
SummaryStep stepOf(int index, int first, int last) {
    SummaryStep told;
    told.step.index = index;
    for (int replica = first; replica <= last; ++replica) {
        ReducedReplica& reduced = told.step.replicas.emplace_back();
        reduced.replica = replica;
        reduced.complete = true;
        reduced.wall = TimeNs{150'000'000 + 1000 * replica + index};
        reduced.bubble_rate = 0.3 + 1e-6 * replica;
        reduced.expected_rate = 0.3;
        for (int rank = 0; rank < kRanks; ++rank) {
            ReducedRank& account = reduced.ranks.emplace_back();
            account.rank = Rank{rank};
            account.busy = TimeNs{105'000'000 + 17 * rank + index};
            account.bubble = reduced.wall - account.busy;
            account.expected_bubble = TimeNs{45'000'000};
            for (TimeNs& cause : account.causes)
                cause = TimeNs{1'000'000 + 31 * rank + replica};
            LiveRank& heard = told.ranks.emplace_back();
            heard.replica = replica;
            heard.rank = Rank{rank};
            heard.step = index;
            heard.records = 200L * (index + 1);
        }
    }
    return told;
}

} // namespace

int main(int argc, char** argv) {
    const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
    const int replicas = number(1, 625);
    const int steps = number(2, 100);
    const int collectors = number(3, 25);
    RunStatement statement;
    statement.info.schedule = "1f1b";
    statement.info.pp = kRanks;
    statement.info.dp = replicas;
    statement.info.microbatches = 64;
    LiveAnalyzer analyzer;
    std::vector<LiveAnalyzer::Stream> streams;
    std::vector<perfetto::Encoder> encoders;
    const auto firstOf = [&](int collector) { return collector * replicas / collectors; };
    for (int c = 0; c < collectors; ++c) {
        streams.push_back(analyzer.open());
        encoders.emplace_back(1);
        encoders.back().process(1, 1, "replicas", 0);
        encoders.back().clockSnapshot(0ns, 0ns);
        encodeSummary(encoders.back(), 1, 0ns, SummaryBegin{statement, firstOf(c), firstOf(c + 1) - 1, 0});
    }
    double seconds = 0;
    std::size_t bytes = 0;
    TimeNs now{0};
    for (int step = 0; step < steps; ++step) {
        for (int c = 0; c < collectors; ++c) {
            const auto at = static_cast<std::size_t>(c);
            encodeSummary(encoders[at], 1, now, stepOf(step, firstOf(c), firstOf(c + 1) - 1));
            const std::string told = encoders[at].take();
            bytes += told.size();
            const double begin = threadSeconds();
            analyzer.feed(streams[at], told, now);
            seconds += threadSeconds() - begin;
        }
        now += 6s;
        const double begin = threadSeconds();
        (void)analyzer.advance(now);
        seconds += threadSeconds() - begin;
    }
    fmt::print("{{\"ranks\":{},\"collectors\":{},\"steps\":{},\"incomplete\":{},\"bytes_per_step\":{},"
               "\"cpu_s_per_step\":{:.5f},\"resident_kb\":{}}}\n",
               replicas * kRanks, collectors, analyzer.counts().steps, analyzer.counts().incomplete,
               bytes / static_cast<std::size_t>(steps), seconds / steps, residentKilobytes());
    return analyzer.counts().steps == steps && analyzer.counts().incomplete == 0 ? 0 : 1;
}
