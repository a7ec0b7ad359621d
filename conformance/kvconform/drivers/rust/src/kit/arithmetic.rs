//! The arithmetic that everybody shares: unsigned 32-bit integers that wrap around (contract, section 1).

pub const GOLDEN: u32 = 0x9E37_79B9;
pub const STATE_MODULUS: i64 = 251;

/// MurmurHash3's 32-bit finaliser.
pub fn fmix(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85EB_CA6B);
    h ^= h >> 13;
    h = h.wrapping_mul(0xC2B2_AE35);
    h ^ (h >> 16)
}

/// Folds the integer `x`, taken modulo 2^32, into the hash `h`.
pub fn chain(h: u32, x: i64) -> u32 {
    fmix(h.wrapping_mul(31).wrapping_add(x as u32).wrapping_add(GOLDEN))
}

/// `chain` over all parts, starting from 0.
pub fn chain_all(parts: &[i64]) -> u32 {
    parts.iter().fold(0, |h, &x| chain(h, x))
}

/// One row of the content pattern: its layer's number, salt, role (0 keys, 1 values), head, absolute position.
pub struct RowKey {
    pub stream: i64,
    pub salt: i64,
    pub role: usize,
    pub head: i64,
    pub position: i64,
}

impl RowKey {
    /// The `dim` values of the row: multiples of 1/64 in [-2, 2], exact in all three dtypes.
    pub fn values(&self, dim: i64) -> Vec<f32> {
        let parts = [self.stream, self.salt, self.role as i64, self.head, self.position];
        let mut key = chain_all(&parts);
        let mut next = || {
            let value = ((fmix(key) % 257) as i32 - 128) as f32 / 64.0;
            key = key.wrapping_add(GOLDEN);
            value
        };
        (0..dim).map(|_| next()).collect()
    }
}

/// The tokens of a prompt.
pub fn prompt_tokens(length: i64, seed: i64, vocab: i64) -> Vec<i64> {
    (0..length).map(|i| i64::from(chain_all(&[seed, i])) % vocab).collect()
}
