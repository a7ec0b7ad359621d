//! What goes wrong in the example.

use std::fmt;

use crate::kit::Failure;

#[derive(Debug)]
pub enum Error {
    /// Bad input, noticed before anything changed.
    Invalid(String),
    /// A file cannot be written or read.
    File(String),
    /// The model's own error.
    Model(Failure),
}

pub type Result<T> = std::result::Result<T, Error>;

/// `Err(Error::Invalid(...))`, for the end of a function.
pub fn invalid<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Invalid(why.into()))
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Error::Model(failure)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid(why) | Error::File(why) => f.write_str(why),
            Error::Model(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
