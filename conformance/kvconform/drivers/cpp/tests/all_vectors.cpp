// Every vector that is about what the driver declares, asked through the kit.
#include "../example/driver.hpp"

int main(int, char** arguments) {
  example::Driver driver;
  kvconform::Runner runner(driver);
  int asked = 0, wrong = 0;
  for (const auto& vector : kvconform::Vector::all(arguments[1])) {
    if (!vector.applies_to(runner.info())) continue;
    const std::string difference = vector.difference(runner.answer(vector.scenario));
    ++asked;
    if (difference.empty()) continue;
    ++wrong;
    std::cerr << vector.id << ": " << difference << "\n";
  }
  std::cerr << asked << " vectors asked, " << wrong << " wrong\n";
  return wrong > 0 || asked == 0;
}
