#pragma once

#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace bubblescope::test {

/// Contents of a database that SQL statements create.
inline std::string databaseOf(const ScratchFolder& folder, const std::string& sql) {
    const auto path = folder.path() / "made.sqlite";
    std::filesystem::remove(path);
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open(path.string().c_str(), &connection), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
    sqlite3_close(connection);
    std::string bytes = readAll(path);
    std::filesystem::remove(path);
    return bytes;
}

} // namespace bubblescope::test
