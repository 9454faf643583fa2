#include "app/gui/export_view.h"

#include "app/gui/svg_device.h"
#include "app/gui/timeline/timeline_view.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QMarginsF>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>

namespace bubblescope::gui {

namespace {

constexpr double kPngScale = 2;
constexpr int kPdfResolution = 96; ///< so that a pixel of the screen is one of the page

QByteArray asPng(TimelineView& view, const QSize& size) {
    QImage image((QSizeF(size) * kPngScale).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(kPngScale);
    QPainter painter(&image);
    view.draw(painter);
    painter.end();
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return out;
}

QByteArray asPdf(TimelineView& view, const QSize& size) {
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(kPdfResolution);
    writer.setPageSize(QPageSize(QSizeF(size) * 72.0 / kPdfResolution, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    writer.setTitle(QStringLiteral("Bubblescope"));
    QPainter painter(&writer);
    view.draw(painter);
    painter.end();
    return out;
}

QByteArray asSvg(TimelineView& view, const QSize& size) {
    SvgDevice device(size);
    QPainter painter(&device);
    view.draw(painter);
    painter.end();
    return device.document();
}

} // namespace

Status exportView(TimelineView& view, const QString& name) {
    const QString ending = QFileInfo(name).suffix().toLower();
    const QSize size = view.viewport()->size();
    QByteArray bytes;
    if (ending == QLatin1String("png")) {
        bytes = asPng(view, size);
    } else if (ending == QLatin1String("pdf")) {
        bytes = asPdf(view, size);
    } else if (ending == QLatin1String("svg")) {
        bytes = asSvg(view, size);
    } else {
        return usageError(fmt::format("cannot tell a kind of picture from '{}'", name.toStdString()),
                          "end the file's name with .png, .svg or .pdf");
    }
    QSaveFile file(name);
    if (!bytes.isEmpty() && file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit())
        return {};
    return runError(fmt::format("cannot write {}: {}", name.toStdString(), file.errorString().toStdString()),
                    "choose another place");
}

} // namespace bubblescope::gui
