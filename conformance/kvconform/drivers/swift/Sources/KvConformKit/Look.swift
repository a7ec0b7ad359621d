// What a look at one cache shows (contract, section 3).

/// The rows that a reader gets, as bytes.
public enum Content {
    case plain(Tensor)
    case packed(Packed)

    var json: JSON {
        switch self {
        case .plain(let tensor): tensor.json
        case .packed(let packed): packed.json
        }
    }
}

/// What one cache shows. Leave nil what it does not have.
public struct Look<Cache: AnyObject> {
    /// `plain`, `chunked`, `rotating`, `quantized`, `recurrent`, `composite`; any other text otherwise.
    public var kind: String
    public var offset: Int?
    public var rows: Int?
    public var keyDim: Int?
    public var valueDim: Int?
    public var groupSize: Int?
    public var bits: Int?
    public var startPosition: Int?
    public var children: [Cache] = []
    /// Recurrent: the first value of each slot; nil when never filled.
    public var state: [Int]?
    /// When content is observed.
    public var keys: Content?
    public var values: Content?
    /// When accounting is observed.
    public var nbytes: Int?
    public var size: Int?
    public var empty: Bool?
    public var trimmable: Bool?
    public var errors: [(name: String, value: JSON)] = []

    public init(kind: String) { self.kind = kind }

    /// Asks for one field and keeps the error when that throws: `look.ask("nbytes") { $0.nbytes = try ... }`.
    public mutating func ask(_ field: String, _ question: (inout Look) throws -> Void) {
        do { try question(&self) } catch { errors.append((field, .string("\(error)"))) }
    }

    func json(number: (Cache) throws -> Int) rethrows -> JSON {
        var fields: [(name: String, value: JSON)] = [("kind", .string(kind))]
        func put(_ name: String, _ value: Int?) { if let value { fields.append((name, .int(value))) } }
        func put(_ name: String, _ value: Bool?) { if let value { fields.append((name, .bool(value))) } }
        put("offset", offset)
        put("rows", rows)
        put("key_dim", keyDim)
        put("value_dim", valueDim)
        put("group_size", groupSize)
        put("bits", bits)
        put("start_position", startPosition)
        put("nbytes", nbytes)
        put("size", size)
        put("empty", empty)
        put("trimmable", trimmable)
        if let state { fields.append(("state", .ints(state))) }
        if kind == "composite" { fields.append(("children", .ints(try children.map(number)))) }
        if let keys { fields.append(("keys", keys.json)) }
        if let values { fields.append(("values", values.json)) }
        if !errors.isEmpty { fields.append(("errors", .object(errors))) }
        return .object(fields)
    }
}
