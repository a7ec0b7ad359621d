//! The container: owns the cache list, shows replaced layers to whoever holds it, and latches the pass (CT).

use super::caches::Layer;
use super::error::Result;
use super::policy::{is_quantizable, plan_pass};

pub struct CacheContainer {
    layers: Vec<Layer>,
    armed: bool,
}

impl CacheContainer {
    /// The caller's own list stays as it is (CT-3).
    pub fn new(layers: Vec<Layer>, bits: Option<i64>) -> Self {
        let armed = bits.is_some() && layers.iter().any(is_quantizable); // CT-4, CT-5
        CacheContainer { layers, armed }
    }

    /// The current layers: ask again after a pass instead of keeping them.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// One pass with this call's options, unless disarmed; the first one that triggers is the last (CT-4).
    pub fn maybe_quantize(&mut self, bits: Option<i64>, group_size: i64, start: i64) -> Result<()> {
        if !self.armed {
            return Ok(()); // CT-11: before any look at a layer
        }
        if let Some(layers) = plan_pass(&self.layers, bits, group_size, start)? {
            self.layers = layers;
            self.armed = false;
        }
        Ok(())
    }
}
