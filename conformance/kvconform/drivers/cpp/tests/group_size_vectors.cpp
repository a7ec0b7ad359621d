// Vectors read without the kit: the group sizes of one dialect.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../example/group_size.hpp"  // your own

int main(int, char** arguments) {
  int asked = 0, wrong = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(arguments[1])) {
    if (file.path().extension() != ".json") continue;
    const auto vector = nlohmann::json::parse(std::ifstream(file.path()));
    const auto &asks = vector["scenario"], &expected = vector["expected"];
    if (vector["dialects"].dump().find("\"proposal\"") == std::string::npos) continue;
    if (expected["kind"] != "resolve" || asks["key_dim"].is_null()) continue;
    const auto size = example::resolve_group_size(asks["requested"], asks["key_dim"], asks["value_dim"]);
    const nlohmann::json answer = size ? nlohmann::json(*size) : nlohmann::json();
    if (++asked; answer != expected["group_size"])
      ++wrong, std::cerr << vector["id"] << ": " << answer << "\n";
  }
  return wrong > 0 || asked == 0;
}
