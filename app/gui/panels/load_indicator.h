#pragma once

#include "app/gui/jobs/background_job.h"

#include <QWidget>

class QLabel;
class QProgressBar;

namespace bubblescope::gui {

/// What is being loaded, how far it is, and a button that stops it. Hidden while nothing loads.
class LoadIndicator : public QWidget {
    Q_OBJECT

public:
    explicit LoadIndicator(BackgroundJob& job, QWidget* parent = nullptr);

    void setName(const QString& name);

signals:
    void cancelRequested();

private:
    QLabel* name_;
    QProgressBar* bar_;
};

} // namespace bubblescope::gui
