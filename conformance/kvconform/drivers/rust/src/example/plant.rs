//! Faults planted on purpose: `KVCONFORM_PLANT=NAME` makes the example wrong in one decision, to see that the suite
//! notices. An implementation of your own needs nothing like this.

use std::sync::OnceLock;

/// `tie-high`, `convert-rotating`, `quantize-twice` or `limit-off-by-one`.
pub fn planted(fault: &str) -> bool {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("KVCONFORM_PLANT").ok()).as_deref() == Some(fault)
}
