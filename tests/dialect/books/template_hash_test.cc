// Pods that differ in few fields have different hashes: else each would be compared with all before it.
#include <gtest/gtest.h>

#include "dialect/books/template_book.h"

namespace berth::dialect {
namespace {

TEST(TemplateHash, TellsVolumesTermsAndSelectorsApart) {
  PodTemplate plain;
  plain.requests.set("cpu", 1000);
  EXPECT_EQ(hash_of(plain), hash_of(PodTemplate(plain)));
  PodTemplate a = plain;
  PodTemplate b = plain;
  a.volumes.edit().push_back({"claim data-0", {}});
  b.volumes.edit().push_back({"claim data-1", {}});
  EXPECT_NE(hash_of(a), hash_of(b));
  EXPECT_NE(hash_of(a), hash_of(plain));
  PodTemplate near = plain;
  near.terms.edit().push_back({TermKind::kNear, "app-0", "zone"});
  EXPECT_NE(hash_of(near), hash_of(plain));
  PodTemplate counted = plain;
  counted.selected.edit().emplace_back("app-0");
  EXPECT_NE(hash_of(counted), hash_of(plain));
}

}  // namespace
}  // namespace berth::dialect
