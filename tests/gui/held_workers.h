#pragma once

#include <QSemaphore>
#include <QThreadPool>

namespace bubblescope::gui {

/// While it exists, work on the application's worker threads does not begin. For tests that look at what is shown
/// meanwhile.
class HeldWorkers {
public:
    HeldWorkers() : threads_(pool().maxThreadCount()) {
        pool().waitForDone();
        pool().setMaxThreadCount(1);
        pool().start([this] {
            began_.release();
            go_on_.acquire();
            ended_.release();
        });
        began_.acquire();
    }
    ~HeldWorkers() {
        go_on_.release();
        ended_.acquire();
        pool().setMaxThreadCount(threads_);
    }
    HeldWorkers(const HeldWorkers&) = delete;
    HeldWorkers& operator=(const HeldWorkers&) = delete;

private:
    static QThreadPool& pool() { return *QThreadPool::globalInstance(); }

    int threads_;
    QSemaphore began_;
    QSemaphore go_on_;
    QSemaphore ended_;
};

} // namespace bubblescope::gui
