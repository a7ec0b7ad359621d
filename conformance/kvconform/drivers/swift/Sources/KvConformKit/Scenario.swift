// What a scenario says, read field by field. An unknown field is an error, so that nothing is ignored silently.

/// The integers that a field may hold.
enum Bounds {
    static let whole = -(1 << 53)...(1 << 53)
    static let count = 0...1_000_000
    static let positive = 1...1_000_000
}

/// Reads the fields of one JSON object, each within the bounds of the schema. Null and absent are the same: the default.
struct Fields {
    private let object: JSON
    private let place: String
    private var known: [String] = []

    init(_ json: JSON, _ place: String) throws {
        guard case .object = json else { throw BadRequest(code: .badParams, message: "\(place): an object is due") }
        object = json
        self.place = place
    }

    func wrong(_ name: String, _ what: String) -> BadRequest {
        BadRequest(code: .badParams, message: "\(place).\(name): \(what)")
    }

    mutating func find(_ name: String) -> JSON? {
        known.append(name)
        return object[name]
    }

    mutating func need(_ name: String) throws -> JSON {
        guard let found = find(name) else { throw wrong(name, "is missing") }
        return found
    }

    mutating func maybe(_ name: String, _ range: ClosedRange<Int> = Bounds.whole) throws -> Int? {
        try find(name).map { try int(name, in: $0, range) }
    }

    mutating func int(_ name: String, _ otherwise: Int, _ range: ClosedRange<Int> = Bounds.whole) throws -> Int {
        try maybe(name, range) ?? otherwise
    }

    mutating func neededInt(_ name: String, _ range: ClosedRange<Int> = Bounds.whole) throws -> Int {
        try int(name, in: try need(name), range)
    }

    mutating func positiveNumber(_ name: String) throws -> Double? {
        guard let found = find(name) else { return nil }
        guard let value = found.doubleValue, value > 0 else { throw wrong(name, "a number above 0 is due") }
        return value
    }

    mutating func flag(_ name: String, _ otherwise: Bool = false) throws -> Bool {
        guard let found = find(name) else { return otherwise }
        guard let value = found.boolValue else { throw wrong(name, "true or false is due") }
        return value
    }

    mutating func neededText(_ name: String) throws -> String {
        guard let value = try need(name).stringValue else { throw wrong(name, "a text is due") }
        return value
    }

    /// One of several words, the first one by default.
    mutating func choice(_ name: String, _ words: [String]) throws -> String {
        find(name) == nil ? words[0] : try neededChoice(name, words)
    }

    mutating func neededChoice(_ name: String, _ words: [String]) throws -> String {
        let word = try neededText(name)
        if !words.contains(word) { throw wrong(name, "'\(word)' is not known") }
        return word
    }

    /// Numbers from 0; nil when they are left out.
    mutating func counts(_ name: String) throws -> [Int]? {
        guard find(name) != nil else { return nil }
        return try list(name).map { try int(name, in: $0, Bounds.count) }
    }

    /// The items of a list; none when it is left out.
    mutating func list(_ name: String) throws -> [JSON] {
        find(name) == nil ? [] : try neededList(name)
    }

    mutating func neededList(_ name: String, _ sizes: ClosedRange<Int> = Bounds.count) throws -> [JSON] {
        guard let items = try need(name).arrayValue, sizes.contains(items.count) else {
            throw wrong(name, "a list of \(sizes.lowerBound)..\(sizes.upperBound) items is due")
        }
        return items
    }

    private func int(_ name: String, in json: JSON, _ range: ClosedRange<Int>) throws -> Int {
        guard let value = json.intValue, range.contains(value) else {
            throw wrong(name, "an integer in \(range.lowerBound)..\(range.upperBound) is due")
        }
        return value
    }

    /// To be called when all fields have been asked for.
    func done() throws {
        guard case .object(let fields) = object else { return }
        for field in fields where !known.contains(field.name) {
            throw wrong(field.name, "unknown field; is the kit older than the suite?")
        }
    }
}

/// What a look contains beyond kind, offset, rows and dims.
public struct Observe {
    public var content = false
    public var accounting = false
    public var accesses = false

    public init() {}

    init(_ json: JSON?) throws {
        guard let json else { return }
        var fields = try Fields(json, "observe")
        content = try fields.flag("content")
        accounting = try fields.flag("accounting")
        accesses = try fields.flag("accesses")
        try fields.done()
    }
}

/// One layer as a scenario describes it. Only the fields of its kind mean anything.
public struct Layer {
    public enum Kind: String { case plain, chunked, rotating, quantized, recurrent, composite }

    public var kind = Kind.plain
    public var length = 0
    public var keyDim = 64
    public var valueDim = 64
    public var heads = 1
    public var dtype = DType.float32
    /// Plain: rows trimmed after the fill.
    public var trim = 0
    /// Chunked: rows kept when the front is dropped, and whether it is dropped after the fill.
    public var chunkSize = 16
    public var dropFront = false
    /// Rotating: rows of the window, rows that stay at its front, and whether the fill goes row by row.
    public var maxSize = 16
    public var keep = 0
    public var singly = false
    /// Quantized.
    public var groupSize = 64
    public var bits = 4
    /// Recurrent: how many state arrays, and whether they are filled.
    public var slots = 2
    public var filled = true
    /// Composite.
    public var children: [Layer] = []
    /// The layer's number in the scenario: depth first, a composite before its children, from 0.
    public var stream = 0

    static func all(_ json: [JSON]) throws -> [Layer] {
        var numbers = 0
        return try json.map { try Layer($0, numbers: &numbers) }
    }

    init(_ json: JSON, numbers: inout Int) throws {
        var fields = try Fields(json, "layer")
        guard let kind = Kind(rawValue: try fields.neededText("kind")) else {
            throw fields.wrong("kind", "is not known")
        }
        self.kind = kind
        stream = numbers
        numbers += 1
        switch kind {
        case .recurrent:
            slots = try fields.int("slots", slots, Bounds.positive)
            filled = try fields.flag("filled", true)
        case .composite:
            for child in try fields.neededList("children", 1...8) {
                children.append(try Layer(child, numbers: &numbers))
            }
        default: try readRows(&fields)
        }
        try fields.done()
    }

    private mutating func readRows(_ fields: inout Fields) throws {
        length = try fields.int("length", length, Bounds.count)
        keyDim = try fields.int("key_dim", keyDim, Bounds.positive)
        valueDim = try fields.int("value_dim", valueDim, Bounds.positive)
        heads = try fields.int("heads", heads, Bounds.positive)
        dtype = DType(rawValue: try fields.choice("dtype", ["float32", "float16", "bfloat16"])) ?? dtype
        switch kind {
        case .chunked:
            chunkSize = try fields.int("chunk_size", chunkSize, Bounds.positive)
            dropFront = try fields.flag("drop_front")
        case .rotating:
            maxSize = try fields.int("max_size", maxSize, Bounds.positive)
            keep = try fields.int("keep", keep, Bounds.count)
            singly = try fields.flag("singly")
        case .quantized:
            groupSize = try fields.int("group_size", groupSize)
            bits = try fields.int("bits", bits)
        default: trim = try fields.int("trim", trim, Bounds.count)
        }
    }
}

/// What a container is constructed with.
public struct Built {
    public var bits: Int?
    public var groupSize = 64

    init(_ json: JSON?) throws {
        guard let json else { return }
        var fields = try Fields(json, "built")
        bits = try fields.maybe("bits")
        groupSize = try fields.int("group_size", groupSize)
        try fields.done()
    }
}

/// Generation parameters; a scenario passes every one.
public struct Parameters {
    public var maxTokens: Int?
    public var bits: Int?
    public var groupSize = 64
    public var start = 0
    public var prefillStep = 512
    public var repetitionPenalty: Double?
    public var repetitionContextSize = 20

    public init() {}

    init(_ json: JSON?) throws {
        guard let json else { return }
        var fields = try Fields(json, "parameters")
        maxTokens = try fields.maybe("max_tokens")
        bits = try fields.maybe("bits")
        groupSize = try fields.int("group_size", groupSize)
        start = try fields.int("start", start)
        prefillStep = try fields.int("prefill_step", prefillStep)
        repetitionPenalty = try fields.positiveNumber("repetition_penalty")
        repetitionContextSize = try fields.int(
            "repetition_context_size", repetitionContextSize, Bounds.positive)
        try fields.done()
    }
}
