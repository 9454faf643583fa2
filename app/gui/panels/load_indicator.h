#pragma once

#include "app/gui/jobs/background_job.h"
#include "core/base/progress_estimate.h"

#include <QElapsedTimer>
#include <QWidget>

class QLabel;
class QProgressBar;

namespace bubblescope::gui {

/// What is being loaded, how far it is, how long it will take, and a button that stops it. Hidden while nothing loads.
class LoadIndicator : public QWidget {
    Q_OBJECT

public:
    explicit LoadIndicator(BackgroundJob& job, QWidget* parent = nullptr);

    void setName(const QString& name);

signals:
    void cancelRequested();

private:
    void showCount(quint64 done, quint64 total);

    QString loading_;
    ProgressEstimate estimate_;
    QElapsedTimer since_; ///< the load began
    QLabel* name_;
    QProgressBar* bar_;
};

} // namespace bubblescope::gui
