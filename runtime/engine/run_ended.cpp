#include "runtime/engine/run_ended.h"

#include "core/base/exception_text.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <optional>
#include <utility>

namespace bubblescope::runtime {

void throwIfEnded(const Transport& transport) {
    if (transport.ended().load(std::memory_order_relaxed)) throw RunEnded{};
}

void throwIfEnded(Transport& transport, const JobControl& control) {
    if (control.stopRequested()) transport.fail(cancelledError());
    throwIfEnded(transport);
}

Taken receiveOrLeave(Transport& transport, Rank from, const MessageKey& key) {
    std::optional<Taken> taken = transport.receive(from, key);
    if (!taken) throw RunEnded{};
    return *std::move(taken);
}

TimeNs meetOrLeave(Transport& transport, TimeNs time) {
    const std::optional<TimeNs> latest = transport.barrier(time);
    if (!latest) throw RunEnded{};
    return *latest;
}

void failOnException(Transport& transport, const std::function<void()>& run,
                     const std::function<std::string()>& where) noexcept {
    try {
        run();
    } catch (const RunEnded&) {
    } catch (const std::exception& e) {
        transport.fail(runError(fmt::format("{} failed: {}", where(), exceptionText(e))));
    } catch (...) {
        transport.fail(runError(fmt::format("{} failed", where())));
    }
}

} // namespace bubblescope::runtime
