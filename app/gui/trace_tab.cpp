#include "app/gui/trace_tab.h"

#include "app/gui/language/text.h"

#include <QFileInfo>

namespace bubblescope::gui {

QString nameOfTrace(const QStringList& paths) {
    const QString name = QFileInfo(paths.front()).fileName();
    return name.isEmpty() ? paths.front() : name;
}

namespace {

QString titleOfTrace(const QStringList& paths) {
    const QString name = nameOfTrace(paths);
    return paths.size() > 1 ? tr("%1 and more").arg(name) : name;
}

} // namespace

QString titleOf(const TraceTab& tab) {
    if (tab.failure) return tr("%1 – not opened").arg(tab.title);
    if (!tab.first_steps_only) return tab.title;
    return (tab.session->hasSteps() ? tr("%1 – first steps") : tr("%1 – beginning")).arg(tab.title);
}

TraceTab tabOf(const QStringList& paths, SessionPtr session, Taught taught) {
    TraceTab tab;
    tab.paths = paths;
    tab.title = titleOfTrace(paths);
    tab.session = std::move(session);
    tab.taught = std::move(taught);
    return tab;
}

void forgetPartOfTrace(ViewSnapshot& view) {
    view.reference = nullptr;
    if (view.selection.kind == ItemKind::Slice || view.selection.kind == ItemKind::Check) view.selection = {};
}

QStringList toStrings(const std::vector<std::filesystem::path>& paths) {
    QStringList out;
    for (const std::filesystem::path& path : paths)
        out << fromUtf8(path.string());
    return out;
}

std::vector<std::filesystem::path> toFiles(const QStringList& paths) {
    std::vector<std::filesystem::path> out;
    for (const QString& path : paths)
        out.emplace_back(path.toStdString());
    return out;
}

} // namespace bubblescope::gui
