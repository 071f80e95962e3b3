#include "apps/lesson/page.h"

#include <zlib.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "apps/report/texts/texts.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

std::string inside_element(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// The name of a script that may run, in a policy.
std::string source_of(const std::string& digest) {
  return "sha256-" + absl::Base64Escape(absl::HexStringToBytes(digest));
}

}  // namespace

std::string packed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_COMPRESSION);
  if (status != Z_OK) fail(absl::StrCat("packed: zlib's error ", status));
  bytes.resize(size);
  return absl::Base64Escape(bytes);
}

std::string lesson_page(const std::string& document, const std::string& variants,
                        const std::string& title, const std::string& language) {
  return absl::StrReplaceAll(kPageHtml, {{"{{title}}", inside_element(title)},
                                         {"{{loader digest}}", source_of(kPageLoaderDigest)},
                                         {"{{digest}}", source_of(kPageScriptDigest)},
                                         {"{{language}}", language},
                                         {"{{style}}", kPageStyle},
                                         {"{{texts}}", packed(json_of_texts("lesson/"))},
                                         {"{{script}}", packed(kPageScript)},
                                         {"{{loader}}", kPageLoader},
                                         {"{{variants}}", variants.empty() ? "" : packed(variants)},
                                         {"{{document}}", packed(document)}});
}

}  // namespace qkv
