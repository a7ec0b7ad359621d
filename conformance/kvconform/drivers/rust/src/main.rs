//! The program behind `kvconform run "exec:./target/release/driver"`.

use kvconform_driver::driver::Driver;
use kvconform_driver::kit;

fn main() -> std::io::Result<()> {
    kit::serve(Driver)
}
