#include "app/gui/models/demo_files.h"

#include "app/gui/language/format.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <mutex>
#include <system_error>

namespace bubblescope::gui {

namespace {

/// Of this edition alone: a newer version's demos lie beside those of an older one.
QString demoFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::CacheLocation) +
           QStringLiteral("/demos-%1").arg(kDemoVersion);
}

QString translatedDemo(std::string_view text) {
    return QCoreApplication::translate("DemoTrace", std::string(text).c_str());
}

/// A load that was cancelled may still write when the next one begins, and so may another instance of the app.
Status writeOnce(const DemoTrace& demo, const std::filesystem::path& file) {
    static std::mutex writing;
    const std::lock_guard lock(writing);
    std::error_code unknown; // a folder that cannot be looked into is told by the writing
    if (std::filesystem::exists(file, unknown)) return {};
    Status written = writeDemo(demo.name, file);
    return std::filesystem::exists(file, unknown) ? Status() : written;
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
            if (demo != nullptr) BUBBLESCOPE_TRY(writeOnce(*demo, path));
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
    return translatedDemo(demo.description);
}

} // namespace bubblescope::gui
