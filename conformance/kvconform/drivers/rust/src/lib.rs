//! A kvconform driver: the kit, an example implementation, and the one file that connects both.

pub mod driver;
pub mod example;
pub mod kit;
