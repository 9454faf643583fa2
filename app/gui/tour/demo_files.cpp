#include "app/gui/tour/demo_files.h"

#include "app/gui/models/format.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace bubblescope::gui {

namespace {

/// Of this edition alone: a newer version's demos lie beside those of an older one.
QString demoFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::CacheLocation) +
           QStringLiteral("/demos-%1").arg(kDemoEdition);
}

QString translatedDemo(std::string_view text) {
    return QCoreApplication::translate("DemoTrace", std::string(text).c_str());
}

/// Null where a path is none of a demo.
const DemoTrace* demoAt(const QString& path) {
    const QFileInfo file(path);
    if (QDir::cleanPath(file.absolutePath()) != QDir::cleanPath(demoFolder())) return nullptr;
    return findDemoTrace(file.completeBaseName().toStdString());
}

} // namespace

QString demoFile(const QString& name) {
    return demoFolder() + QLatin1Char('/') + name + QStringLiteral(".pftrace");
}

bool isDemo(const QStringList& paths) {
    return paths.size() == 1 && demoAt(paths.front()) != nullptr;
}

RunLoader withDemos(RunLoader loader) {
    return [loader = std::move(loader)](const std::vector<std::filesystem::path>& paths,
                                        JobControl& control) -> Result<Run> {
        for (const std::filesystem::path& path : paths) {
            const DemoTrace* demo = demoAt(fromUtf8(path.string()));
            if (demo == nullptr || std::filesystem::exists(path)) continue;
            BUBBLESCOPE_TRY(writeDemo(demo->name, path));
        }
        return loader(paths, control);
    };
}

QString demoName(const DemoTrace& demo) {
    return QString::fromLatin1(demo.name.data(), static_cast<qsizetype>(demo.name.size()));
}

QString demoTitle(const DemoTrace& demo) {
    return translatedDemo(demo.title);
}

QString demoSays(const DemoTrace& demo) {
    return translatedDemo(demo.says);
}

} // namespace bubblescope::gui
