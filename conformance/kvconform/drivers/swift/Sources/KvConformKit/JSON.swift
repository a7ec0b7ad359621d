// A small JSON value with a reader and a writer over UTF-8 bytes: several times faster than JSONSerialization.

/// A JSON value. Objects keep the order of their fields.
public enum JSON {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([(name: String, value: JSON)])
    /// Written as base64 text; never read.
    case base64([UInt8])

    public static func optional(_ value: Int?) -> JSON { value.map(JSON.int) ?? .null }
    public static func ints(_ values: [Int]) -> JSON { .array(values.map(JSON.int)) }
    public static func strings(_ values: [String]) -> JSON { .array(values.map(JSON.string)) }

    /// A field of an object; nil when there is none or it is null.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let fields) = self else { return nil }
        for field in fields where field.name == name {
            if case .null = field.value { return nil }
            return field.value
        }
        return nil
    }

    public var intValue: Int? { if case .int(let value) = self { value } else { nil } }
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    public var arrayValue: [JSON]? { if case .array(let value) = self { value } else { nil } }
    public var doubleValue: Double? {
        switch self {
        case .double(let value): value
        case .int(let value): Double(value)
        default: nil
        }
    }
}

extension JSON: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { (name: $0.0, value: $0.1) })
    }
}

extension JSON: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
}

// MARK: - Reading

public struct NotJSON: Error, CustomStringConvertible {
    public let description: String
}

extension JSON {
    /// The value that the bytes hold; `NotJSON` says where they do not.
    public init(parsing bytes: UnsafeBufferPointer<UInt8>) throws {
        var reader = Reader(bytes: bytes)
        self = try reader.value(depth: 0)
        reader.skipSpace()
        if reader.at != bytes.count { throw reader.wrong("something behind the value") }
    }

    public init(parsing bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBufferPointer { try JSON(parsing: $0) }
    }
}

private struct Reader {
    let bytes: UnsafeBufferPointer<UInt8>
    var at = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    func wrong(_ what: String) -> NotJSON { NotJSON(description: "not JSON: \(what) at byte \(at)") }

    /// The byte here; 0 behind the end, which no value contains.
    var here: UInt8 { at < bytes.count ? bytes[at] : 0 }

    mutating func skipSpace() {
        while here == 0x20 || here == 0x0A || here == 0x0D || here == 0x09 { at += 1 }
    }

    mutating func value(depth: Int) throws -> JSON {
        if depth > 200 { throw wrong("too deep a nesting") }
        skipSpace()
        switch here {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ text: StaticString, _ value: JSON) throws -> JSON {
        for index in 0..<text.utf8CodeUnitCount {
            if here != text.utf8Start[index] { throw wrong("an unknown word") }
            at += 1
        }
        return value
    }

    private mutating func object(depth: Int) throws -> JSON {
        at += 1
        var fields: [(name: String, value: JSON)] = []
        skipSpace()
        if take("}") { return .object(fields) }
        repeat {
            skipSpace()
            if here != UInt8(ascii: "\"") { throw wrong("no field name") }
            let name = try string()
            skipSpace()
            if !take(":") { throw wrong("no colon") }
            fields.append((name, try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        if !take("}") { throw wrong("an object that does not end") }
        return .object(fields)
    }

    private mutating func array(depth: Int) throws -> JSON {
        at += 1
        var items: [JSON] = []
        skipSpace()
        if take("]") { return .array(items) }
        repeat {
            items.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        if !take("]") { throw wrong("an array that does not end") }
        return .array(items)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        if here != UInt8(ascii: character) { return false }
        at += 1
        return true
    }

    private mutating func number() throws -> JSON {
        let start = at
        let negative = take("-")
        var whole = 0
        var overflow = false
        while here >= 0x30 && here <= 0x39 {
            let (product, tooBig) = whole.multipliedReportingOverflow(by: 10)
            let (sum, stillTooBig) = product.addingReportingOverflow(Int(here - 0x30))
            overflow = overflow || tooBig || stillTooBig
            whole = sum
            at += 1
        }
        if at == start + (negative ? 1 : 0) { throw wrong("no value") }
        let marks: [UInt8] = [
            UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"),
        ]
        if !overflow && !marks.contains(here) { return .int(negative ? -whole : whole) }
        while marks.contains(here) || (here >= 0x30 && here <= 0x39) { at += 1 }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
        guard let value = Double(text), value.isFinite else { throw wrong("a number out of range") }
        return .double(value)
    }

    private mutating func string() throws -> String {
        at += 1
        let start = at
        while here != UInt8(ascii: "\"") && here != UInt8(ascii: "\\") {
            if here < 0x20 { throw wrong("a text that does not end") }
            at += 1
        }
        let plain = UnsafeBufferPointer(rebasing: bytes[start..<at])
        if take("\"") { return String(decoding: plain, as: UTF8.self) }
        return try escapedString(Array(plain))
    }

    private mutating func escapedString(_ before: [UInt8]) throws -> String {
        var text = String(decoding: before, as: UTF8.self)
        while !take("\"") {
            if take("\\") {
                text.unicodeScalars.append(try escape())
                continue
            }
            let start = at
            while here != UInt8(ascii: "\"") && here != UInt8(ascii: "\\") {
                if here < 0x20 { throw wrong("a text that does not end") }
                at += 1
            }
            text += String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
        }
        return text
    }

    private mutating func escape() throws -> Unicode.Scalar {
        let kind = here
        at += 1
        switch kind {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
        case UInt8(ascii: "u"):
            let first = try codeUnit()
            if let scalar = Unicode.Scalar(first) { return scalar }
            guard first < 0xDC00, take("\\"), take("u") else { return "\u{FFFD}" }
            let second = try codeUnit()
            return Unicode.Scalar(0x10000 + ((UInt32(first) & 0x3FF) << 10) + (UInt32(second) & 0x3FF)) ?? "\u{FFFD}"
        default: throw wrong("an unknown escape")
        }
    }

    private mutating func codeUnit() throws -> UInt16 {
        guard at + 4 <= bytes.count,
            let unit = UInt16(String(decoding: bytes[at..<at + 4], as: UTF8.self), radix: 16)
        else { throw wrong("a broken \\u escape") }
        at += 4
        return unit
    }
}

// MARK: - Writing

extension JSON {
    /// The value as UTF-8 text without any white space.
    public var bytes: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(512)
        write(to: &out)
        return out
    }

    public func write(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(literal: "null")
        case .bool(let value): out.append(literal: value ? "true" : "false")
        case .int(let value): out.append(int: value)
        case .double(let value): out.append(contentsOf: "\(value)".utf8)
        case .string(let value): out.append(quoted: value)
        case .base64(let value):
            out.append(UInt8(ascii: "\""))
            appendBase64(of: value, to: &out)
            out.append(UInt8(ascii: "\""))
        case .array(let items):
            out.append(UInt8(ascii: "["))
            for (index, item) in items.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                item.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let fields):
            out.append(UInt8(ascii: "{"))
            for (index, field) in fields.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                out.append(quoted: field.name)
                out.append(UInt8(ascii: ":"))
                field.value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(literal: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    fileprivate mutating func append(int value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        let start = count
        repeat {
            append(UInt8(0x30 + rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }

    fileprivate mutating func append(quoted text: String) {
        append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0..<0x20:
                append(literal: "\\u00")
                append(contentsOf: [hexDigit(byte >> 4), hexDigit(byte & 15)])
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
