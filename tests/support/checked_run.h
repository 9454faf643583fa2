#pragma once

#include "core/aadiff/digest.h"
#include "core/families/registry.h"
#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/native_events.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::test {

/// A synthetic training run whose ops produce numbers that depend on each other as in a model: each number is a hash of
/// its inputs. A changed number therefore changes exactly the numbers that depend on it.
class CheckedRun {
public:
    ScheduleSpec spec{"1f1b", "", 4, 4, 1};
    int layers = 2; ///< number of layers per stage
    int steps = 2;
    /// Changes a number after it was computed; null = no fault.
    std::function<std::uint64_t(const DigestRecord& made)> fault = {};
    std::vector<CheckRecord> checks = {};

    [[nodiscard]] Schedule schedule() const { return makeSchedule(spec).value(); }

    [[nodiscard]] std::vector<StepTimeline> timelines() const {
        std::vector<StepTimeline> result;
        CostModel costs;
        costs.times = makeOpTimes(TimeNs{1'000'000}, TimeNs{2'000'000}, {}, {}).value();
        for (int step = 0; step < steps; ++step) {
            StepTimeline timeline = simulate(schedule(), costs).value();
            const TimeNs shift = step * 2 * timeline.wall();
            for (auto& rank : timeline.ranks) {
                for (TimelineOp& op : rank) {
                    op.start += shift;
                    op.end += shift;
                }
            }
            for (auto& rank : timeline.comm)
                rank.clear();
            timeline.index = step;
            timeline.fitWindow();
            result.push_back(std::move(timeline));
        }
        return result;
    }

    [[nodiscard]] std::vector<DigestRecord> digests() const {
        std::vector<DigestRecord> result;
        const Schedule order = schedule();
        const int all = order.pp * order.vpp * layers;
        std::vector<std::uint64_t> weights(static_cast<std::size_t>(all));
        for (std::size_t l = 0; l < weights.size(); ++l)
            weights[l] = digest::mix(l + 1);
        const auto split = [&](int layer) { // true if the rank's chunk has separate backward ops for this layer
            const Location at = locate(order.placement, order.pp, Stage{layer / layers});
            for (const Op& op : order.ranks[at.rank.index()]) {
                if (op.chunk == at.chunk && op.kind == OpKind::BackwardInput) return true;
            }
            return false;
        };
        const auto make = [&](int step, OpKind kind, int mb, int layer, const char* tensor, std::uint64_t value) {
            DigestRecord record;
            const Location at = locate(order.placement, order.pp, Stage{layer / layers});
            record.step = step;
            record.rank = at.rank;
            record.op = {kind, Microbatch{mb}, at.chunk};
            record.layer = layer;
            record.tensor = tensor;
            record.digest = digest::mix(value);
            record.time = TimeNs{static_cast<std::int64_t>(result.size())};
            if (fault) record.digest = fault(record);
            result.push_back(record);
            return record.digest;
        };
        for (int step = 0; step < steps; ++step) {
            std::vector<std::uint64_t> sums(weights.size());
            for (int mb = 0; mb < order.microbatches; ++mb) {
                std::vector<std::uint64_t> inputs;
                std::uint64_t value = digest::mix(static_cast<std::uint64_t>(1000 * step + mb) + 77);
                for (int l = 0; l < all; ++l) {
                    inputs.push_back(value);
                    value =
                        make(step, OpKind::Forward, mb, l, "output", value + 3 * weights[static_cast<std::size_t>(l)]);
                }
                for (int l = all; l-- > 0;) {
                    const auto i = static_cast<std::size_t>(l);
                    const bool halves = split(l);
                    const std::uint64_t above = value;
                    value = make(step, halves ? OpKind::BackwardInput : OpKind::Backward, mb, l, "input gradient",
                                 above + 5 * inputs[i] + 7 * weights[i]);
                    sums[i] += make(step, halves ? OpKind::BackwardWeight : OpKind::Backward, mb, l, "weight gradient",
                                    above + 11 * inputs[i]);
                }
            }
            for (int l = 0; l < all; ++l) {
                const auto i = static_cast<std::size_t>(l);
                weights[i] = make(step, OpKind::Optimizer, 0, l, "weights", weights[i] + 13 * sums[i]);
            }
        }
        return result;
    }

    [[nodiscard]] RunInfo info() const { return RunInfo::of("run", schedule()); }

    /// Writes the ops to one file, and checks and digests to another.
    void write(const ScratchFolder& folder, const std::string& name, bool with_digests = true) const {
        std::filesystem::create_directories(folder.path() / name);
        if (!perfetto::writeTimeline(folder.path() / name / "ops.pftrace", info(), timelines()).ok())
            throw std::runtime_error("the ops cannot be written");
        folder.write(name + "/checks.pftrace",
                     checkFile(checks, with_digests ? digests() : std::vector<DigestRecord>()));
    }

    [[nodiscard]] std::string checkFile(const std::vector<CheckRecord>& of_checks,
                                        const std::vector<DigestRecord>& of_digests) const {
        perfetto::Encoder encoder(99);
        const Schedule order = schedule();
        std::map<int, std::uint64_t> tracks;
        encoder.clockSnapshot(TimeNs{0});
        const auto trackOf = [&](Rank rank) {
            const auto [track, fresh] = tracks.try_emplace(rank.value, (std::uint64_t{77} << 40U) +
                                                                           10 * static_cast<std::uint64_t>(rank.value));
            if (fresh) {
                encoder.process(track->second + 1, rank.value + 1, fmt::format("rank {}", rank.value), rank.value);
                encoder.track(track->second, track->second + 1, "replay", 0);
            }
            return track->second;
        };
        const auto stage = [&](const auto& record) {
            return stageOf(order.placement, order.pp, record.rank, record.op.chunk);
        };
        for (const CheckRecord& check : of_checks)
            perfetto::writeCheck(encoder, trackOf(check.rank), check, stage(check));
        for (const DigestRecord& record : of_digests)
            perfetto::writeDigest(encoder, trackOf(record.rank), record, stage(record));
        return encoder.take();
    }
};

} // namespace bubblescope::test
