#include "app/gui/report_page.h"

#include "app/gui/options.h"
#include "core/formats/source/replacing_file.h"
#include "core/report/html.h"
#include "core/report/results/analysis.h"
#include "core/report/results/devices.h"
#include "core/report/results/zoom.h"

namespace bubblescope::gui {

Status writeReport(const Session& session, const QString& file) {
    ReplacingFile out(file.toStdString());
    if (session.hasSteps()) {
        report::AnalysisOptions content;
        content.reader = report::Reader::Page;
        content.version = kVersion;
        const report::ZoomTimeline zoom = report::zoomTimeline(session.run, session.report);
        out.write(report::toHtml(report::analysisDocument(session.run, session.report, content), &zoom));
    } else {
        if (!report::showsActivity(session.activity)) return session.no_pipeline.value_or(Error{});
        const LoadedTrace trace{session.run, session.no_pipeline};
        out.write(report::toHtml(report::activityDocument(trace, session.activity, kVersion)));
    }
    return out.commit();
}

} // namespace bubblescope::gui
