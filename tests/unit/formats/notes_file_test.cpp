#include "core/formats/notes_file.h"
#include "core/formats/read_trace.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class NotesFile : public testing::Test {
protected:
    [[nodiscard]] fs::path put(const std::string& text) const {
        fs::path file = folder.path() / "run.pftrace.notes.json";
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }

    test::ScratchFolder folder;
};

TEST_F(NotesFile, LiesBesideTheTrace) {
    EXPECT_EQ(notesFileOf("a/run.pftrace"), fs::path("a/run.pftrace.notes.json"));
    EXPECT_EQ(notesFileOf("a/run"), fs::path("a/run.notes.json"));
    EXPECT_EQ(notesFileOf("a/run/"), fs::path("a/run.notes.json"));
    EXPECT_TRUE(isNotesFile(notesFileOf("x.json")));
    EXPECT_FALSE(isNotesFile("notes.json"));
}

TEST_F(NotesFile, GivesBackWhatWasWritten) {
    const fs::path file = folder.path() / "t.json.notes.json";
    const std::vector<Note> notes{
        {TimeNs{0}, TimeNs{0}, std::nullopt, ""},
        {TimeNs{1'700'000'000'123'456'789}, TimeNs{1'700'000'000'123'456'800}, 1023, "气泡 \"here\"\n\\ and there"},
        {TimeNs{-5}, TimeNs{7}, 0, "before the first event"},
    };
    ASSERT_TRUE(writeNotes(file, notes).ok());
    const auto read = readNotes(file);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read.value(), notes);
    // Nothing to keep: nothing is left lying about.
    ASSERT_TRUE(writeNotes(file, {}).ok());
    EXPECT_FALSE(fs::exists(file));
    EXPECT_TRUE(readNotes(file).value().empty());
}

TEST_F(NotesFile, KeepsNotesWithImproperText) {
    const fs::path file = folder.path() / "t.notes.json";
    ASSERT_TRUE(writeNotes(file, {{TimeNs{1}, TimeNs{1}, std::nullopt, "a\xff z"}}).ok());
    EXPECT_THAT(readNotes(file).value().at(0).text, HasSubstr(" z"));
}

TEST_F(NotesFile, EndAndRankMayBeMissing) {
    const auto read = readNotes(put(R"({"notes":[{"begin_ns":5,"text":"x","colour":"red"},)"
                                    R"({"begin_ns":1,"end_ns":2,"rank":null,"text":""}]})"));
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read.value()[0], (Note{TimeNs{5}, TimeNs{5}, std::nullopt, "x"}));
    EXPECT_EQ(read.value()[1].rank, std::nullopt);
}

TEST_F(NotesFile, NamesThePlaceOfAFault) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "run.pftrace.notes.json"},
        {"[1]", "list \"notes\" missing"},
        {R"({"notes":5})", "list \"notes\" missing"},
        {R"({"notes":[{"begin_ns":1,"text":"a"},7]})", "notes[1] is not an object"},
        {R"({"notes":[{"text":"a"}]})", "notes[0] has no begin_ns"},
        {R"({"notes":[{"begin_ns":1.5,"text":"a"}]})", "notes[0].begin_ns is 1.5"},
        {R"({"notes":[{"begin_ns":18446744073709551615,"text":"a"}]})", "notes[0].begin_ns"},
        {R"({"notes":[{"begin_ns":9,"end_ns":8,"text":"a"}]})", "ends before it begins"},
        {R"({"notes":[{"begin_ns":9,"rank":-1,"text":"a"}]})", "has rank -1"},
        {R"({"notes":[{"begin_ns":9,"rank":4294967296,"text":"a"}]})", "has rank 4294967296"},
        {R"({"notes":[{"begin_ns":9}]})", "has no text"},
        {R"({"notes":[{"begin_ns":9,"text":"a"})", "run.pftrace.notes.json"},
    };
    for (const auto& [text, message] : cases) {
        const fs::path file = put(text);
        const auto read = readNotes(file);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_EQ(read.error().kind, ErrorKind::Input);
        EXPECT_THAT(read.error().text(), HasSubstr(message));
        EXPECT_THAT(read.error().where, HasSubstr(file.string()));
        EXPECT_FALSE(read.error().hint.empty());
        // And the existing file stays unchanged.
        const Status written = writeNotes(file, {{TimeNs{1}, TimeNs{1}, std::nullopt, "mine"}});
        ASSERT_FALSE(written.ok());
        EXPECT_THAT(written.error().text(), HasSubstr("not saved"));
        EXPECT_EQ(test::readAll(file), text);
    }
}

TEST_F(NotesFile, SaysWhereNothingCanBeWritten) {
    const Status written = writeNotes(folder.path() / "missing" / "t.notes.json", {{TimeNs{1}, TimeNs{1}, 0, "x"}});
    ASSERT_FALSE(written.ok());
    EXPECT_THAT(written.error().text(), HasSubstr("missing"));
}

TEST_F(NotesFile, IsNoTraceOfItsFolder) {
    std::ofstream(folder.path() / "a.json") << R"({"traceEvents":[]})";
    std::ofstream(folder.path() / "a.json.notes.json") << R"({"notes":[]})";
    const auto files = findTraceFiles({folder.path()});
    ASSERT_TRUE(files.ok()) << files.error().text();
    ASSERT_EQ(files.value().size(), 1U);
    EXPECT_EQ(files.value()[0].path.filename(), "a.json");
}

} // namespace
} // namespace bubblescope
