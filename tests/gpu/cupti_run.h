#pragma once

#include "core/families/registry.h"
#include "runtime/backend/backend.h"
#include "runtime/run.h"
#include "tests/gpu/flavors.h"
#include "tests/support/cupti_observer.h"
#include "tests/support/emulated_device.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Runs on an emulated device, with a stand-in for CUPTI that reports what the device runs.
namespace bubblescope::runtime::test {

/// Measures the duration of each synchronisation between device and host, which is the maximum error of device times.
class WatchedClock final : public HostClock {
public:
    [[nodiscard]] TimeNs now() const override {
        const TimeNs now = clock_.now();
        const std::lock_guard lock(mutex_);
        if (readings_++ % kReadings == 0) first_ = now;
        longest_ = std::max(longest_, now - first_);
        return now;
    }
    void sleepUntil(TimeNs time) override { clock_.sleepUntil(time); }
    [[nodiscard]] TimeNs longest() const {
        const std::lock_guard lock(mutex_);
        return longest_;
    }

private:
    static constexpr std::int64_t kReadings = 10; ///< readings per synchronisation
    MonotonicClock clock_;
    mutable std::mutex mutex_;
    mutable std::int64_t readings_ = 0;
    mutable TimeNs first_{0};
    mutable TimeNs longest_{0};
};

/// Counts the executed work.
class CountingObserver final : public DeviceObserver {
public:
    explicit CountingObserver(std::shared_ptr<bubblescope::test::CuptiObserver> to) : to_(std::move(to)) {}
    [[nodiscard]] std::uint32_t called(Kind kind, bool graph) override { return to_->called(kind, graph); }
    void ran(const Work& work) override {
        // Digests of the weights, and the operation that clears their page.
        const bool clears_page = work.kind == Kind::Set && work.bytes == DigestPage::kBytes;
        const bool after_the_run = clears_page || std::string_view(work.name).starts_with("Digest");
        if (!after_the_run) ++count;
        to_->ran(work);
    }
    void idleAt(TimeNs now) override { to_->idleAt(now); }

    std::atomic<std::int64_t> count{0};

private:
    std::shared_ptr<bubblescope::test::CuptiObserver> to_;
};

struct CuptiRunConfig {
    std::string family = "1f1b";
    int pp = 4;
    int microbatches = 6;
    int vpp = 1;
    int steps = 3;
    int tensor_ranks = 1;
    int replicas = 1;
    TimeNs kernel_time{20'000};
    TimeNs launch_time{2'000};
    bool graphs = false;
    std::optional<TimeNs> forward; ///< if set, paces the run with this time and twice this time
};

/// Parts of a run on an emulated device that tests examine afterwards.
struct CuptiRun {
    std::shared_ptr<EmulatedDevice> device;
    std::shared_ptr<WatchedClock> clock = std::make_shared<WatchedClock>();
    std::shared_ptr<CountingObserver> observer;
    RunConfig config;

    CuptiRun(const std::shared_ptr<bubblescope::test::CuptiObserver>& cupti, const CuptiRunConfig& what,
             std::filesystem::path out, unsigned seed = 1)
        : device(std::make_shared<EmulatedDevice>(seed)), observer(std::make_shared<CountingObserver>(cupti)) {
        device->kernel_time = what.kernel_time;
        device->copy_time = what.kernel_time;
        device->launch_time = what.launch_time;
        device->graphs = what.graphs;
        device->observer = observer;
        ScheduleSpec spec;
        spec.name = what.family;
        spec.pp = what.pp;
        spec.microbatches = what.microbatches;
        spec.vpp = what.vpp;
        Result<Schedule> schedule = makeSchedule(spec);
        if (!schedule.ok()) throw std::runtime_error(schedule.error().text());
        config.schedule = std::move(schedule).value();
        config.model = tinyModel();
        config.steps = what.steps;
        config.tensor_ranks = what.tensor_ranks;
        config.replicas = what.replicas;
        config.paced = what.forward.has_value();
        if (what.forward) {
            config.times.times.forward = *what.forward;
            config.times.times.backward = 2 * *what.forward;
        }
        config.backend = std::make_shared<Backend>("emulated", device, Storage::Float, clock);
        config.out_dir = std::move(out);
    }
};

} // namespace bubblescope::runtime::test
