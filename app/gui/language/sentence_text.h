#pragma once

#include "core/base/result.h"
#include "core/base/sentence.h"

#include <QString>

#include <string>

namespace bubblescope::gui {

/// What core says, in the app's language: by the table of translations, where its pattern stands with places that name
/// their argument ("{1}的{0}"). English where the table lacks it.
[[nodiscard]] QString translated(const Sentence& sentence);

/// The same for what comes as English text: errors, and what other processes found. The pattern of the table that it
/// fits is looked for; of several the one with most words of its own.
[[nodiscard]] QString translatedText(const std::string& english);

/// All of an error in one line, as Error::text().
[[nodiscard]] QString errorText(const Error& error);

} // namespace bubblescope::gui
