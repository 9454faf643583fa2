#pragma once

#include "core/base/job.h"
#include "core/base/result.h"

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace bubblescope::python {

/// Raises the exception of bubblescope.errors that corresponds to the error. Command-line options in the message are
/// replaced with Python keywords.
[[noreturn]] void raise(const Error& error);

template <class T>
T valueOf(Result<T> result) {
    if (!result.ok()) raise(result.error());
    return std::move(result).value();
}

inline void check(const Status& status) {
    if (!status.ok()) raise(status.error());
}

/// Runs `work(control)` on another thread and returns its result. Other Python threads can run in the meantime.
/// `progress` (None, or a callable that takes the bytes read and the total) is called periodically. Ctrl+C or an
/// exception in `progress` stops the work. Requires the GIL.
template <class Work>
auto callInterruptibly(const pybind11::object& progress, const Work& work) {
    namespace py = pybind11;
    using Value = std::invoke_result_t<const Work&, JobControl&>;
    constexpr auto kInterval = std::chrono::milliseconds(50);
    std::stop_source stop;
    JobControl control;
    control.stop = stop.get_token();
    std::optional<Value> value;
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::thread worker([&] {
        try {
            value.emplace(work(control));
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        done = true;
        ended.notify_one();
    });
    const auto join = [&] {
        const py::gil_scoped_release released;
        worker.join();
    };
    const auto tick = [&] {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (!progress.is_none()) progress(control.done.load(), control.total.load());
    };
    try {
        for (bool over = false; !over;) {
            {
                const py::gil_scoped_release released;
                std::unique_lock lock(mutex);
                over = ended.wait_for(lock, kInterval, [&] { return done; });
            }
            if (!over) tick();
        }
        if (!progress.is_none()) progress(control.done.load(), control.total.load());
    } catch (...) {
        stop.request_stop();
        join();
        throw;
    }
    join();
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
}

} // namespace bubblescope::python
