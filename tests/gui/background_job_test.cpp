#include "app/gui/jobs/application.h"
#include "app/gui/jobs/background_job.h"
#include "tests/gui/gui_tests.h"

#include <QImage>
#include <QPainter>
#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>
#include <QThreadPool>
#include <QTimer>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using bubblescope::JobControl;
using bubblescope::gui::Application;
using bubblescope::gui::BackgroundJob;

/// Semaphores hold the workers, so that every order of events is forced. A worker that has been let through may still
/// be inside its semaphore when the test ends, so both own it.
class BackgroundJobTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { threads_ = QThreadPool::globalInstance()->maxThreadCount(); }
    void init() { QThreadPool::globalInstance()->setMaxThreadCount(4); }
    void cleanup() { QVERIFY(QThreadPool::globalInstance()->waitForDone(20000)); }

    void deliversOnTheOwnersThread() {
        BackgroundJob job;
        QThread* worker = nullptr;
        QThread* receiver = nullptr;
        int result = 0;
        job.start(
            [&](JobControl&) {
                worker = QThread::currentThread();
                return 42;
            },
            [&](int value) {
                receiver = QThread::currentThread();
                result = value;
            });
        QVERIFY(job.running());
        QTRY_COMPARE(result, 42);
        QVERIFY(!job.running());
        QCOMPARE(receiver, QThread::currentThread());
        QVERIFY(worker != receiver);
    }

    /// Qt paints large areas with threads of the pool that jobs run on, and waits for them.
    void paintingDoesNotWaitForJobs() {
        QThreadPool::globalInstance()->setMaxThreadCount(threads_);
        auto gate = std::make_shared<QSemaphore>();
        auto begun = std::make_shared<std::atomic<int>>(0);
        std::vector<std::unique_ptr<BackgroundJob>> jobs;
        for (int i = 0; i < QThread::idealThreadCount(); ++i) {
            jobs.push_back(std::make_unique<BackgroundJob>());
            jobs.back()->start(
                [gate, begun](JobControl&) {
                    ++*begun;
                    gate->acquire();
                    return 0;
                },
                [](int) {});
        }
        QTRY_COMPARE(begun->load(), QThread::idealThreadCount());
        // Ends the test where painting does wait.
        QSemaphore painted;
        bool waited = false;
        std::thread rescue([&] {
            waited = !painted.tryAcquire(1, 10'000);
            gate->release(QThread::idealThreadCount());
        });
        QImage image(2000, 2000, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::white);
        QPainter(&image).fillRect(image.rect(), QColor(0, 0, 0, 100));
        painted.release();
        rescue.join();
        QVERIFY(!waited);
    }

    void workThatThrowsIsReportedAndEnds() {
        QSignalSpy failed(qobject_cast<Application*>(QCoreApplication::instance()), &Application::failed);
        BackgroundJob job;
        bool delivered = false;
        const auto deliver = [&](int) { delivered = true; };
        job.start([](JobControl&) -> int { throw std::runtime_error("broken"); }, deliver);
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(!job.running());
        QVERIFY(failed[0][0].value<bubblescope::Error>().text().find("broken") != std::string::npos);
        job.start([](JobControl&) -> int { throw std::bad_alloc(); }, deliver);
        QTRY_COMPARE(failed.count(), 2);
        QVERIFY(failed[1][0].value<bubblescope::Error>().text().find("memory") != std::string::npos);
        QVERIFY(!delivered);
        job.start([](JobControl&) { return 1; }, deliver); // it still works
        QTRY_VERIFY(delivered);
    }

    void aSlotThatThrowsDoesNotEndTheApplication() {
        QSignalSpy failed(qobject_cast<Application*>(QCoreApplication::instance()), &Application::failed);
        QTimer::singleShot(0, [] { throw std::runtime_error("in a slot"); });
        QTRY_COMPARE(failed.count(), 1);
        bool later = false;
        QTimer::singleShot(0, [&] { later = true; });
        QTRY_VERIFY(later);
    }

    void cancelStopsTheWorkAndDropsItsResult() {
        BackgroundJob job;
        QSignalSpy running(&job, &BackgroundJob::runningChanged);
        QSemaphore started;
        bool delivered = false;
        job.start(
            [&](JobControl& control) {
                started.release();
                while (!control.stopRequested())
                    QThread::yieldCurrentThread();
                return 1;
            },
            [&](int) { delivered = true; });
        started.acquire();
        job.cancel();
        QVERIFY(!job.running());
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000)); // the work has seen its stop token
        QCoreApplication::processEvents();
        QVERIFY(!delivered);
        QCOMPARE(running.count(), 2);
        job.cancel(); // nothing to do
        QCOMPARE(running.count(), 2);
    }

    void newerJobReplacesOlderEvenIfTheOlderEndsLater() {
        BackgroundJob job;
        auto release_old = std::make_shared<QSemaphore>();
        std::vector<int> results;
        job.start(
            [release_old](JobControl&) {
                release_old->acquire(); // ignores its stop token until it is released
                return 1;
            },
            [&](int value) { results.push_back(value); });
        job.start([](JobControl&) { return 2; }, [&](int value) { results.push_back(value); });
        QTRY_COMPARE(results.size(), 1U);
        release_old->release();
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCoreApplication::processEvents();
        QCOMPARE(results, std::vector<int>{2});
    }

    void finishedButUndeliveredResultOfAnOlderJobIsDropped() {
        BackgroundJob job;
        std::vector<int> results;
        job.start([](JobControl&) { return 1; }, [&](int value) { results.push_back(value); });
        // The result is posted but not delivered yet.
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        job.start([](JobControl&) { return 2; }, [&](int value) { results.push_back(value); });
        QTRY_COMPARE(results, std::vector<int>{2});
    }

    void destroyedOwnerReceivesNothing() {
        auto release = std::make_shared<QSemaphore>();
        auto delivered = std::make_shared<bool>(false);
        auto stopped = std::make_shared<std::atomic<bool>>(false);
        QSemaphore started;
        {
            BackgroundJob job;
            job.start(
                [release, stopped, &started](JobControl& control) {
                    started.release();
                    release->acquire();
                    *stopped = control.stopRequested();
                    return 1;
                },
                [delivered](int) { *delivered = true; });
            started.acquire(); // work that has not begun is skipped
        }
        release->release();
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCoreApplication::processEvents();
        QVERIFY(*stopped);
        QVERIFY(!*delivered);
    }

    void reportsProgress() {
        BackgroundJob job;
        QSignalSpy progress(&job, &BackgroundJob::progress);
        auto release = std::make_shared<QSemaphore>();
        auto ready = std::make_shared<QSemaphore>();
        bool done = false;
        job.start(
            [release, ready](JobControl& control) {
                ready->acquire();
                control.total = 200;
                control.done = 50;
                release->acquire();
                return 0;
            },
            [&](int) { done = true; });
        QVERIFY(progress.wait());
        QVERIFY(progress.last().first().toDouble() < 0); // total unknown
        ready->release();
        QTRY_COMPARE(progress.last().first().toDouble(), 0.25);
        release->release();
        QTRY_VERIFY(done);
    }

    void startFromTheResultHandlerWorks() {
        BackgroundJob job;
        int result = 0;
        job.start([](JobControl&) { return 1; },
                  [&](int) { job.start([](JobControl&) { return 2; }, [&](int value) { result = value; }); });
        QTRY_COMPARE(result, 2);
    }

private:
    int threads_ = 0; ///< of the pool, as the application has it
};

BUBBLESCOPE_GUI_TEST(BackgroundJobTest, background_job_test);
#include "background_job_test.moc"
