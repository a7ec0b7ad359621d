//! What can go wrong, by what the suite makes of it.

use std::any::Any;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Why there is no answer. Give your own error type a `From` for this, so that `?` does the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A clear refusal of bad input, before anything changed.
    Refused(String),
    /// There is no such concept here; the message says which.
    Unsupported(String),
    /// The scripted model's own error: let it through.
    PrepareFailed,
    /// Anything else, panics included.
    Internal(String),
}

pub type Answer<T> = Result<T, Failure>;

impl Failure {
    pub fn refused(message: impl Into<String>) -> Self {
        Failure::Refused(message.into())
    }

    /// The kind of a step's error, as the contract names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Refused(_) => "refused",
            Failure::Unsupported(_) => "unsupported",
            Failure::PrepareFailed => "model",
            Failure::Internal(_) => "internal",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::PrepareFailed => f.write_str("scripted prepare failed"),
            Failure::Refused(why) | Failure::Unsupported(why) | Failure::Internal(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}

/// What the closure answers; a panic, which the hook has printed to stderr, is an internal error.
pub fn guarded<T>(ask: impl FnOnce() -> Answer<T>) -> Answer<T> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| Err(Failure::Internal(panic_text(&*panic))))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}
