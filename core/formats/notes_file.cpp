#include "core/formats/notes_file.h"

#include "core/base/input_file.h"
#include "core/formats/source/replacing_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace bubblescope {

namespace {

using NotesJson = nlohmann::json;

constexpr std::string_view kNotesShape =
    R"(notes look like {"notes":[{"begin_ns":1500,"end_ns":2000,"rank":3,"text":"…"},…]}; )"
    R"("end_ns" and "rank" may be missing)";

constexpr std::string_view kNotesSuffix = ".notes.json";

Result<TimeNs> noteTime(const NotesJson& note, const char* key, const std::string& where, std::size_t place) {
    const auto found = note.find(key);
    if (found == note.end())
        return inputError(where, fmt::format("notes[{}] has no {}", place, key), std::string(kNotesShape));
    if (!found->is_number_integer() ||
        (found->is_number_unsigned() && found->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()))
        return inputError(
            where, fmt::format("notes[{}].{} is {}, not a whole number of nanoseconds", place, key, found->dump()),
            std::string(kNotesShape));
    return TimeNs{found->get<std::int64_t>()};
}

Result<Note> noteIn(const NotesJson& json, const std::string& where, std::size_t place) {
    const auto fault = [&](const std::string& what) {
        return inputError(where, fmt::format("notes[{}] {}", place, what), std::string(kNotesShape));
    };
    if (!json.is_object()) return fault("is not an object");
    Note note;
    BUBBLESCOPE_ASSIGN(note.begin, noteTime(json, "begin_ns", where, place));
    note.end = note.begin;
    if (json.contains("end_ns")) {
        BUBBLESCOPE_ASSIGN(note.end, noteTime(json, "end_ns", where, place));
    }
    if (note.end < note.begin) return fault("ends before it begins");
    if (const auto rank = json.find("rank"); rank != json.end() && !rank->is_null()) {
        if (!rank->is_number_integer() || *rank < 0 || *rank > std::numeric_limits<std::int32_t>::max())
            return fault("has rank " + rank->dump() + ", not a whole number ≥ 0");
        note.rank = rank->get<int>();
    }
    const auto text = json.find("text");
    if (text == json.end() || !text->is_string()) return fault("has no text");
    note.text = text->get<std::string>();
    return note;
}

NotesJson toJson(const Note& note) {
    NotesJson json{{"begin_ns", note.begin.count()}, {"end_ns", note.end.count()}, {"text", note.text}};
    if (note.rank) json["rank"] = *note.rank;
    return json;
}

} // namespace

std::filesystem::path notesFileOf(const std::filesystem::path& trace) {
    // "run/" names a directory; its notes are next to it, not in it.
    std::filesystem::path file = trace.lexically_normal();
    if (!file.has_filename()) file = file.parent_path();
    file += kNotesSuffix;
    return file;
}

bool isNotesFile(const std::filesystem::path& file) {
    return file.filename().string().ends_with(kNotesSuffix);
}

Result<std::vector<Note>> readNotes(const std::filesystem::path& file) {
    std::error_code failed;
    const bool there = std::filesystem::exists(file, failed);
    if (failed)
        return inputError(file.string(), fmt::format("cannot be accessed: {}", failed.message()),
                          "check its permissions");
    if (!there) return std::vector<Note>{};
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file.string()));
    BUBBLESCOPE_ASSIGN(const NotesJson document, parseJsonDocument(text, file.string(), kNotesShape));
    const auto list = document.is_object() ? document.find("notes") : document.end();
    if (!document.is_object() || list == document.end() || !list->is_array())
        return inputError(file.string(), "list \"notes\" missing", std::string(kNotesShape));
    std::vector<Note> notes;
    for (std::size_t i = 0; i < list->size(); ++i) {
        BUBBLESCOPE_ASSIGN(Note note, noteIn((*list)[i], file.string(), i));
        notes.push_back(std::move(note));
    }
    return notes;
}

Status writeNotes(const std::filesystem::path& file, const std::vector<Note>& notes) {
    if (const auto now = readNotes(file); !now.ok()) {
        Error error = now.error();
        error.message += "; the notes were not saved";
        error.hint = "move that file away, or repair it: " + error.hint;
        return error;
    }
    if (notes.empty()) {
        std::error_code failed;
        std::filesystem::remove(file, failed);
        if (failed)
            return inputError(file.string(), fmt::format("cannot be removed: {}", failed.message()),
                              "check its permissions");
        return {};
    }
    NotesJson list = NotesJson::array();
    for (const Note& note : notes)
        list.push_back(toJson(note));
    ReplacingFile out(file);
    // Pasted text may be invalid UTF-8; this must not cause the loss of the other notes.
    out.write(NotesJson{{"notes", std::move(list)}}.dump(1, ' ', false, NotesJson::error_handler_t::replace));
    out.write("\n");
    return out.commit();
}

} // namespace bubblescope
