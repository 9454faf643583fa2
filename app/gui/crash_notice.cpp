#include "app/gui/crash_notice.h"

#include "app/gui/jobs/crash_report.h"
#include "app/gui/language/text.h"
#include "app/gui/main_window.h"

#include <QFile>
#include <QMessageBox>
#include <QPushButton>

namespace bubblescope::gui {

/// Labels of QMessageBox, listed here because Qt's own translations may not be installed.
[[maybe_unused]] constexpr const char* const kDetailLabels[] = {QT_TRANSLATE_NOOP("QMessageBox", "Show Details..."),
                                                                QT_TRANSLATE_NOOP("QMessageBox", "Hide Details...")};

void offerCrashReport(QWidget& window, const QString& folder) {
    const QStringList reports = takeNewCrashReports(folder);
    if (reports.isEmpty()) return;
    const QString path = reports.front();
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return;
    auto* const box = new QMessageBox(QMessageBox::Warning, tr("Crash report"), tr("Bubblescope crashed last time."),
                                      QMessageBox::NoButton, &window);
    box->setObjectName(QStringLiteral("crashNotice"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setInformativeText(
        tr("Attach this report to your bug report. It contains the version and the call stack, but nothing "
           "from your traces. It has not been sent anywhere:\n%1")
            .arg(path));
    box->setDetailedText(QString::fromUtf8(file.readAll()));
    box->addButton(tr("&Keep report"), QMessageBox::AcceptRole);
    QPushButton* const discard = box->addButton(tr("&Delete report"), QMessageBox::DestructiveRole);
    discard->setObjectName(QStringLiteral("crashDelete"));
    QObject::connect(discard, &QPushButton::clicked, box, [path] { QFile::remove(path); });
    box->open();
}

} // namespace bubblescope::gui
