#include "app/gui/main_window.h"
#include "app/gui/models/demo_files.h"
#include "app/gui/tour/tour.h"

namespace bubblescope::gui {

void MainWindow::openDemo(const QString& name) {
    // Whoever looks at a demo for the first time is shown around.
    if (remember_ && !Tour::seen()) tourWhenOpen();
    open({demoFile(name)});
}

/// Begins the tour when what is being opened is there. What fails to open takes the tour's beginning with it.
void MainWindow::tourWhenOpen(int step) {
    delete tour_waits_;
    tour_waits_ = new QObject(this);
    connect(this, &MainWindow::loaded, tour_waits_, [this, step] {
        tour_waits_->deleteLater();
        startTour(step);
    });
    connect(this, &MainWindow::failed, tour_waits_, &QObject::deleteLater);
}

Tour* MainWindow::tour() const {
    return qobject_cast<Tour*>(tour_.data());
}

void MainWindow::startTour(int step) {
    delete tour_;
    if (state_.session() == nullptr) {
        tourWhenOpen(step);
        return open({demoFile(QString::fromLatin1(kTourDemo))});
    }
    tour_ = new Tour({*this, themes_, languages_, [this](const QString& panel) { showPanel(panel); }}, step);
}

} // namespace bubblescope::gui
