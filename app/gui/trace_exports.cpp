#include "app/gui/trace_exports.h"

#include "app/gui/central_area.h"
#include "app/gui/figure_dialog.h"
#include "app/gui/models/item_copy.h"
#include "app/gui/options.h"
#include "app/gui/panels/file_dialogs.h"
#include "app/gui/trace_tabs.h"
#include "core/formats/source/replacing_file.h"
#include "core/report/html.h"
#include "core/report/results/analysis.h"
#include "core/report/results/devices.h"
#include "core/report/results/model_use.h"
#include "core/report/results/zoom.h"

#include <QApplication>
#include <QClipboard>
#include <QFileInfo>

namespace bubblescope::gui {
namespace {

constexpr int kNoteTime = 4000; ///< ms

/// Errors: Run if the file cannot be written; for a trace without a pipeline, also those of activityOf().
Status writeReport(const Session& session, const std::optional<ModelUse>& use, const QString& file) {
    ReplacingFile out(file.toStdString());
    if (session.hasSteps()) {
        report::AnalysisOptions content;
        content.reader = report::Reader::Page;
        content.version = kVersion;
        content.use = use;
        const report::ZoomTimeline zoom = report::zoomTimeline(session.run, session.report);
        out.write(report::toHtml(report::analysisDocument(session.run, session.report, content), &zoom));
    } else {
        if (!report::showsActivity(session.activity)) return session.no_pipeline.value_or(Error{});
        const LoadedTrace trace{session.run, session.no_pipeline};
        report::Document document = report::activityDocument(trace, session.activity, kVersion);
        if (use) document.add(report::modelUseSection(typicalStep(session.activity)->duration, *use));
        out.write(report::toHtml(document));
    }
    return out.commit();
}

} // namespace

TraceExports::TraceExports(const Sources& sources, QWidget& window)
    : QObject(&sources.centre), from_(sources), window_(window) {}

void TraceExports::chooseFigure() {
    if (!from_.state.session()) return;
    const PictureFrame frame = from_.centre.pictureFrame();
    auto* const dialog = new FigureDialog(frame.title, frame.subtitle, &window_);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        const Figure figure = dialog->figure();
        const QString suffix = dialog->suffix();
        const QString name = QFileInfo(from_.centre.pictureName()).completeBaseName() + QLatin1Char('.') + suffix;
        const NewFile wanted{tr("Export the timeline"), name, suffix, tr("Pictures (*.png *.svg *.pdf *.tex)")};
        askWhereToSave(window_, wanted, [this, figure](const QString& file) {
            if (!from_.state.session()) return; // the trace was closed while the dialog was open
            emit written(exportFigure(from_.state, from_.themes.theme(), figure, file), file);
        });
    });
    dialog->open();
}

void TraceExports::chooseReport() {
    if (!from_.state.session()) return;
    const QString name = QFileInfo(from_.tabs.front().title).completeBaseName() + QStringLiteral(".html");
    const NewFile wanted{tr("Export a report"), name, QStringLiteral("html"), tr("Pages (*.html)")};
    askWhereToSave(window_, wanted, [this](const QString& file) {
        if (const SessionPtr session = from_.state.session())
            emit written(writeReport(*session, from_.state.modelUse(), file), file);
    });
}

void TraceExports::copyCommand() {
    if (!from_.state.session()) return;
    const QString command = commandThatAnalyzes(*from_.state.session(), from_.state.model());
    if (command.isEmpty()) return emit noted(tr("This run has no files on this machine"), kNoteTime);
    QApplication::clipboard()->setText(command);
    emit noted(tr("Copied the command to the clipboard"), kNoteTime);
}

void TraceExports::copyPicture() {
    if (!from_.state.session()) return;
    QApplication::clipboard()->setImage(from_.centre.timelinePicture());
    emit noted(tr("Copied the picture to the clipboard"), kNoteTime);
}

} // namespace bubblescope::gui
