// Faults planted on purpose: KVCONFORM_PLANT=NAME makes the example wrong in one decision, to see that the
// suite notices. An implementation of your own needs nothing like this.
#pragma once

#include <cstdlib>
#include <string>

namespace example {

// tie-high, convert-rotating, quantize-twice or limit-off-by-one.
inline bool planted(const char* fault) {
  static const char* chosen = std::getenv("KVCONFORM_PLANT");
  return chosen && std::string(chosen) == fault;
}

}  // namespace example
