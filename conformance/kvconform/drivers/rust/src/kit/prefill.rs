//! How a prompt is cut into chunks, by the plan that the dialect declares (PR-6).

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    Window,
    Balanced,
    ReserveOne,
}

/// The prefill plan of a dialect: a name, or all parameters spelled out.
pub fn plan_of(dialect: &Value) -> Plan {
    let name = dialect.as_str().unwrap_or("");
    let spelled = dialect.get("prefill").and_then(Value::as_str);
    match (name, spelled) {
        ("mlx-lm" | "mlx-lm-0.29" | "mlx-lm-0.28", _) | (_, Some("reserve-one")) => Plan::ReserveOne,
        ("mlx-swift-lm", _) | (_, Some("balanced")) => Plan::Balanced,
        _ => Plan::Window,
    }
}

/// The tokens in chunks, of which the last is what a normal step gets. No chunk is empty.
pub fn cut(tokens: &[i64], window: i64, plan: Plan) -> Vec<&[i64]> {
    let mut rest = tokens;
    let mut chunks = Vec::new();
    for length in chunk_lengths(tokens.len(), window.max(1) as usize, plan) {
        let (chunk, behind) = rest.split_at(length);
        chunks.push(chunk);
        rest = behind;
    }
    chunks
}

fn chunk_lengths(length: usize, window: usize, plan: Plan) -> Vec<usize> {
    match plan {
        _ if length == 0 => Vec::new(),
        Plan::Window => windows(length, window),
        Plan::Balanced if length <= window => vec![length],
        Plan::Balanced => [balanced(length - 1, window), vec![1]].concat(),
        Plan::ReserveOne => [windows(length - 1, window), vec![1]].concat(),
    }
}

/// Whole windows while more than one remains, then the rest.
fn windows(length: usize, window: usize) -> Vec<usize> {
    let whole = length.saturating_sub(1) / window;
    let rest = length - whole * window;
    let mut lengths = vec![window; whole];
    lengths.extend((rest > 0).then_some(rest));
    lengths
}

/// As few chunks as possible, as equal as possible, longer ones first.
fn balanced(length: usize, window: usize) -> Vec<usize> {
    let chunks = length.div_ceil(window);
    (0..chunks).map(|i| length / chunks + usize::from(i < length % chunks)).collect()
}
