#include "app/gui/models/demo_files.h"

#include "app/gui/language/text.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <mutex>
#include <system_error>

namespace bubblescope::gui {

namespace {

/// One folder per version of the demos, so that a newer app does not read older ones.
QString demoFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::CacheLocation) +
           QStringLiteral("/demos-%1").arg(kDemoVersion);
}

QString translatedDemo(std::string_view text) {
    return QCoreApplication::translate("DemoTrace", std::string(text).c_str());
}

/// A cancelled load that is still running, or another instance of the app, may write the demo
/// concurrently.
Status writeOnce(const DemoTrace& demo, const std::filesystem::path& file) {
    static std::mutex writing;
    const std::lock_guard lock(writing);
    std::error_code unknown; // if the folder cannot be read, writing reports the error
    if (std::filesystem::exists(file, unknown)) return {};
    Status written = writeDemo(demo.name, file);
    return std::filesystem::exists(file, unknown) ? Status() : written;
}

/// Returns null if the path is not that of a demo trace.
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
    return [loader = std::move(loader)](const RunLoader::Paths& paths, JobControl& control,
                                        const LoadOptions& taught) -> Result<LoadedTrace> {
        for (const std::filesystem::path& path : paths) {
            const DemoTrace* demo = demoAt(fromUtf8(path.string()));
            if (demo != nullptr) BUBBLESCOPE_TRY(writeOnce(*demo, path));
        }
        return loader.trace(paths, control, taught);
    };
}

QString demoName(const DemoTrace& demo) {
    return QString::fromLatin1(demo.name.data(), static_cast<qsizetype>(demo.name.size()));
}

QString demoTitle(const DemoTrace& demo) {
    return translatedDemo(demo.title);
}

QString demoDescription(const DemoTrace& demo) {
    return translatedDemo(demo.description);
}

} // namespace bubblescope::gui
