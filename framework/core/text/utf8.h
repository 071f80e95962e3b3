#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv {

// How many bytes the code point at the front of `text` takes: 1 to 4, or 0 when `text` is empty or
// does not begin with valid UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).
size_t code_point_length(std::string_view text);

bool is_utf8(std::string_view text);

// The number of bytes at the end of `text` that begin a code point without completing it: 0 to 3.
size_t unfinished_length(std::string_view text);

// `text` as a terminal may be given it, on one line: control characters (those that turn the
// direction of writing among them), and bytes that are not UTF-8, as \n, \t, \x1B; all else as it
// is.
std::string printable(std::string_view text);
// The same, but line ends and tabs stay.
std::string printable_lines(std::string_view text);

// `text` on one line: line ends, tabs, other control characters, bytes that are not UTF-8 and
// backslashes as \n, \t, \x1B, \xFF, \\. No two texts look the same.
std::string escape(std::string_view text);

}  // namespace qkv
