#include "app/cli/load_watch.h"

#include "app/cli/terminal.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

namespace bubblescope::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kMoment = 700ms;
constexpr auto kInterval = 100ms;

} // namespace

std::string progressText(const std::string& what, WorkUnit unit, const ProgressEstimate& estimate, TimeNs passed) {
    if (unit == WorkUnit::Nothing || (unit == WorkUnit::Ops && estimate.total() == 0))
        return fmt::format("{}: {} s", what, std::chrono::duration_cast<std::chrono::seconds>(passed).count());
    const double scale = unit == WorkUnit::Bytes ? 1e-6 : 1;
    const char* const name = unit == WorkUnit::Bytes ? "MB" : "ops";
    const auto amount = [scale](std::uint64_t count) { return static_cast<double>(count) * scale; };
    if (estimate.readAll() && unit == WorkUnit::Bytes)
        return fmt::format("{}: {:.0f} MB read, sorting", what, amount(estimate.total()));
    if (estimate.readAll()) return fmt::format("{}: {:.0f} {}, analysing", what, amount(estimate.total()), name);
    std::string text = fmt::format("{}: {:.0f}", what, amount(estimate.done()));
    if (estimate.total() > 0) text += fmt::format(" of {:.0f}", amount(estimate.total()));
    text += fmt::format(" {}", name);
    if (estimate.rate() > 0) text += fmt::format(", {:.0f} {}/s", estimate.rate() * scale, name);
    if (const auto left = estimate.remaining()) text += fmt::format(", about {} left", roughTime(*left));
    return text;
}

ProgressWatch::ProgressWatch(const JobControl& control, std::string what, WorkUnit unit) {
    if (!errorIsTerminal()) return;
    const auto show = [this, &control, what = std::move(what), unit](const std::stop_token& stop) {
        using Clock = std::chrono::steady_clock;
        const auto begin = Clock::now();
        ProgressEstimate estimate;
        bool shown = false;
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, stop, kInterval, [] { return false; }) && !stop.stop_requested()) {
            const auto passed = Clock::now() - begin;
            estimate.observe(passed, control.done, control.total);
            if (passed < kMoment) continue;
            // Returns to the start of the line and clears the rest of a longer previous text.
            fmt::print(stderr, "\r{}\x1b[K", progressText(what, unit, estimate, passed).substr(0, errorWidth() - 1));
            std::fflush(stderr);
            shown = true;
        }
        if (shown) fmt::print(stderr, "\r\x1b[K");
    };
    try {
        thread_ = std::jthread(show);
    } catch (const std::system_error&) { // NOLINT(bugprone-empty-catch)
        // No thread could be started, so the work continues without progress.
    }
}

} // namespace bubblescope::cli
