#include "driver.hpp"

int main() {
  example::Driver driver;
  return kvconform::serve(driver);
}
