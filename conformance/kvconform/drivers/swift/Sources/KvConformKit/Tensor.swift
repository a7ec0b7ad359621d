// Tensors of the wire: little-endian bytes in base64.

public enum DType: String {
    case float32, float16, bfloat16, uint32

    public var itemBytes: Int { self == .float32 || self == .uint32 ? 4 : 2 }
}

/// A little-endian array; `bytes` holds the whole of `shape`.
public struct Tensor {
    public var dtype: DType
    public var shape: [Int]
    public var bytes: [UInt8]

    public init(dtype: DType, shape: [Int], bytes: [UInt8]) {
        self.dtype = dtype
        self.shape = shape
        self.bytes = bytes
    }

    public var json: JSON { ["dtype": .string(dtype.rawValue), "shape": .ints(shape), "data": .base64(bytes)] }

    init(_ json: JSON) throws {
        var fields = try Fields(json, "tensor")
        guard let dtype = DType(rawValue: try fields.neededText("dtype")) else {
            throw fields.wrong("dtype", "is not known")
        }
        self.dtype = dtype
        _ = try fields.need("shape")
        self.shape = try fields.counts("shape") ?? []
        let text = try fields.neededText("data")
        guard let bytes = decodedBase64(text), JSON.base64(bytes).bytes == JSON.string(text).bytes else {
            throw fields.wrong("data", "is not base64 with padding")
        }
        self.bytes = bytes
        try fields.done()
        // In floating point: a shape may name more bytes than an integer counts.
        let expected = shape.reduce(Double(dtype.itemBytes)) { $0 * Double($1) }
        if expected != Double(bytes.count) { throw fields.wrong("data", "does not fill the shape") }
    }
}

/// Quantized rows: packed words (uint32), scales and biases in the rows' own dtype.
public struct Packed {
    public var packed: Tensor
    public var scales: Tensor
    public var biases: Tensor

    public init(packed: Tensor, scales: Tensor, biases: Tensor) {
        self.packed = packed
        self.scales = scales
        self.biases = biases
    }

    public var json: JSON { ["packed": packed.json, "scales": scales.json, "biases": biases.json] }
}

private let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

func appendBase64(of data: [UInt8], to out: inout [UInt8]) {
    out.reserveCapacity(out.count + (data.count + 2) / 3 * 4 + 2)
    let padding = UInt8(ascii: "=")
    for start in stride(from: 0, to: data.count, by: 3) {
        let left = data.count - start
        let second = left > 1 ? UInt32(data[start + 1]) << 8 : 0
        let third = left > 2 ? UInt32(data[start + 2]) : 0
        let chunk = UInt32(data[start]) << 16 | second | third
        out.append(digits[Int(chunk >> 18)])
        out.append(digits[Int(chunk >> 12 & 63)])
        out.append(left > 1 ? digits[Int(chunk >> 6 & 63)] : padding)
        out.append(left > 2 ? digits[Int(chunk & 63)] : padding)
    }
}

/// The bytes that base64 text holds; nil when it is none.
public func decodedBase64(_ text: String) -> [UInt8]? {
    var data: [UInt8] = []
    data.reserveCapacity(text.utf8.count / 4 * 3)
    var chunk: UInt32 = 0
    var held = 0
    for character in text.utf8 {
        let digit: UInt8
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): digit = 62
        case UInt8(ascii: "/"): digit = 63
        case UInt8(ascii: "="): return data
        default: return nil
        }
        chunk = chunk << 6 | UInt32(digit)
        held += 6
        if held >= 8 {
            held -= 8
            data.append(UInt8(truncatingIfNeeded: chunk >> UInt32(held)))
        }
    }
    return data
}
