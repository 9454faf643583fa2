#pragma once

#include <QSemaphore>
#include <QThreadPool>

namespace bubblescope::gui {

/// While an object of this class exists, work on the application's worker threads does not start. For tests of the
/// state that the app shows in the meantime.
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
