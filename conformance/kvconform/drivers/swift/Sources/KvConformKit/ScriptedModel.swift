// The scripted model: integer arithmetic that writes rows to every layer and whose next token depends on all that it
// sees (contract, section 6).

/// The logits of one call, `[1, rows, vocab]`; a row is computed when it is looked at.
public struct Logits {
    let seen: UInt32
    let tokens: [Int]
    let ties: Bool
    public let vocab: Int
    public var rows: Int { tokens.count }

    public func row(_ index: Int) -> [Float] {
        let peak = Int(chain(chain(seen, tokens[index]), index) % UInt32(vocab))
        return [Float](unsafeUninitializedCapacity: vocab) { buffer, initialized in
            for token in 0..<vocab {
                let distance = token >= peak ? token - peak : token - peak + vocab
                buffer[token] = Float(vocab / 2 - (ties ? distance / 2 : distance))
            }
            initialized = vocab
        }
    }
}

public struct ModelResult {
    public let logits: Logits
    public let state: Int?
}

/// What prepare answers with.
public enum Prepared {
    /// The tokens that are left to the iterator.
    case tokens([Int])
    /// The result of the last call.
    case result(ModelResult)
}

/// The events of one turn.
final class Trace {
    var events: [JSON] = []

    func log(_ event: String) { events.append(["event": .string(event)]) }
    func log(_ event: String, token: Int) { events.append(["event": .string(event), "token": .int(token)]) }
}

public final class ScriptedModel<Cache: AnyObject> {
    /// The first list that was answered with.
    private(set) var answered: CacheList<Cache>?
    /// The list of the last call.
    var lastSeen: [Cache] = []
    var trace: Trace?
    private(set) var requests = 0
    var vocab: Int { script.vocab }

    private let access: CacheAccess<Cache>
    private let slots: [Layer]
    private let built: [Cache]
    private let plan: String
    private let script: Script
    private var calls = 0

    init(_ access: CacheAccess<Cache>, slots: [Layer], built: [Cache], plan: String, script: Script) {
        self.access = access
        self.slots = slots
        self.built = built
        self.plan = plan
        self.script = script
    }

    /// One forward pass over `[1, length]` tokens, which also writes to the caches.
    public func callAsFunction(_ tokens: [[Int]], cache: [Cache]?, state: Int?) throws -> ModelResult {
        guard tokens.count == 1, let row = tokens.first else {
            throw ModelMisused(description: "the model was called without a leading batch axis of 1")
        }
        let layers = cache ?? []
        lastSeen = layers
        let looks = try layers.map(access.look)
        try logCall(row, looks, state: state, noCache: cache == nil)
        var seen = chainAll(script.seed)
        for look in looks { seen = try fold(seen, look) }
        seen = chain(seen, state.map { $0 + 1 } ?? 0)
        let call = calls
        calls += 1
        for (slot, layer) in zip(slots, layers) { _ = try access.write(slot, to: layer, rows: row.count, salt: call) }
        let logits = Logits(seen: seen, tokens: row, ties: script.ties, vocab: vocab)
        return ModelResult(logits: logits, state: nextState(call: call, state: state, lastToken: row.last ?? 0))
    }

    /// The prefill as the script says.
    public func prepare(_ tokens: [Int], cache: [Cache], window: Int) throws -> Prepared {
        trace?.events.append(["event": "prepare", "length": .int(tokens.count), "window": .int(window)])
        if script.prepare == "raise" { throw PrepareFailed() }
        let lengths = try chunkLengths(tokens.count, window: window, plan: plan)
        let fed = script.prepare == "tokens" ? lengths.dropLast() : lengths[...]
        var last: ModelResult?
        var at = 0
        for length in fed {
            let chunk = Array(tokens[at..<at + length])
            last = try self(
                [chunk], cache: cache.isEmpty ? nil : cache, state: script.prepare == "logits" ? last?.state : nil)
            at += length
        }
        if script.prepare == "logits", let last { return .result(last) }
        return .tokens(script.prepare == "tokens" ? Array(tokens[at...]) : [])
    }

    /// A new list of the scenario's layers.
    public func newCache() -> CacheList<Cache> {
        requests += 1
        trace?.log("new-cache")
        let list = CacheList(built)
        if answered == nil { answered = list }
        return list
    }

    private func fold(_ before: UInt32, _ look: Look<Cache>) throws -> UInt32 {
        switch look.kind {
        case "composite":
            var seen = chain(chain(before, 5), look.children.count)
            for child in look.children { seen = try fold(seen, access.look(child)) }
            return seen
        case "quantized":
            let parameters = chain(chain(chain(before, 3), look.groupSize ?? 0), look.bits ?? 0)
            return chain(parameters, look.offset ?? 0)
        case "recurrent": return chain(chain(before, 4), look.state?.first ?? 0)
        case "rotating": return chain(chain(before, 2), look.offset ?? 0)
        case "chunked": return chain(chain(before, 6), look.offset ?? 0)
        default: return chain(chain(before, 1), look.offset ?? 0)
        }
    }

    private func nextState(call: Int, state: Int?, lastToken: Int) -> Int? {
        if script.state == "none" || (script.state == "alternate" && call % 2 == 1) { return nil }
        return Int(chainAll(state ?? 0, lastToken)) % stateModulus
    }

    private func logCall(_ row: [Int], _ looks: [Look<Cache>], state: Int?, noCache: Bool) throws {
        trace?.events.append([
            "event": "call",
            "tokens": .ints(row),
            "offsets": .array(looks.map { .optional($0.offset) }),
            "caches": .strings(try looks.map(access.signature)),
            "state": .optional(state),
            "no_cache": .bool(noCache),
        ])
    }
}

/// The lengths of a prompt's chunks, as a prefill plan cuts them (PR-6).
func chunkLengths(_ length: Int, window: Int, plan: String) throws -> [Int] {
    if window < 1 { throw Refused("prefill step \(window) is below 1") }
    if length == 0 { return [] }
    if plan == "balanced" && length > window {
        let chunks = (length - 1 + window - 1) / window
        let (short, longer) = (length - 1).quotientAndRemainder(dividingBy: chunks)
        return (0..<chunks).map { $0 < longer ? short + 1 : short } + [1]
    }
    var rest = plan == "reserve-one" ? length - 1 : length
    var lengths: [Int] = []
    while rest > window {
        lengths.append(window)
        rest -= window
    }
    if rest > 0 { lengths.append(rest) }
    return plan == "reserve-one" ? lengths + [1] : lengths
}

/// The prefill plan of a dialect: of a named one, or the parameter of one that is spelled out.
func prefillPlan(of dialect: JSON) -> String {
    switch dialect.stringValue {
    case nil: dialect["prefill"]?.stringValue ?? "window"
    case "mlx-lm", "mlx-lm-0.29", "mlx-lm-0.28": "reserve-one"
    case "mlx-swift-lm": "balanced"
    default: "window"
    }
}
