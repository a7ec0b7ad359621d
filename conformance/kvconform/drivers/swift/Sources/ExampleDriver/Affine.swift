// Affine quantization of one row, step by step in Float, each operation rounded once (AQ). Swift fuses no
// multiplication with an addition by itself; do not write `addingProduct` here.

import KvConformKit

/// Bad input of the example's own code; the driver says that it is a refusal.
struct InvalidInput: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

let supportedBits = [2, 3, 4, 5, 6, 8]  // MQ-14

func check(bits: Int) throws {
    if !supportedBits.contains(bits) {
        throw InvalidInput("bits \(bits) are not supported; use one of \(supportedBits)")
    }
}

func check(length: Int, bits: Int, groupSize: Int) throws {
    try check(bits: bits)
    if ![32, 64, 128].contains(groupSize) {
        throw InvalidInput("group size \(groupSize) is not supported; use 32, 64 or 128")
    }
    if length % groupSize != 0 {
        throw InvalidInput("group size \(groupSize) does not divide a row of \(length) values")
    }
}

struct Group {
    var scale: Float
    var bias: Float
    var codes: [UInt8]
}

func quantizeGroup(_ values: ArraySlice<Float>, bits: Int) -> Group {
    let top = Float((1 << bits) - 1)
    var (low, high) = (Float.infinity, -Float.infinity)
    for value in values {  // a NaN never wins
        if value < low { low = value }
        if value > high { high = value }
    }
    let step = (high - low) / top
    let size = step > 1e-7 ? step : 1e-7
    let fromLow = low.magnitude > high.magnitude  // the edge: the end farther from zero, the high one of a tie
    let edge = fromLow ? low : high
    let firstScale = fromLow ? size : -size
    let edgeCode = (edge / firstScale).rounded(.toNearestOrEven)  // moves the scale of the whole group
    let scale = edgeCode != 0 ? edge / edgeCode : firstScale  // so that zero is representable
    let bias = edgeCode != 0 ? edge : 0
    let codes = values.map { value -> UInt8 in
        let code = ((value - bias) / scale).rounded(.toNearestOrEven)
        return code > 0 ? UInt8(min(code, top)) : 0
    }
    return Group(scale: scale, bias: bias, codes: codes)
}

/// A row as a cache stores it. A plain row has `data` only; a quantized one packed words, scales and biases.
struct StoredRow {
    var data: [UInt8]
    var scales: [UInt8] = []
    var biases: [UInt8] = []
}

func quantizeRow(_ values: [Float], bits: Int, groupSize: Int, dtype: DType) throws -> StoredRow {
    try check(length: values.count, bits: bits, groupSize: groupSize)
    var packed: [UInt8] = []
    packed.reserveCapacity(values.count * bits / 8)
    var (scales, biases): ([Float], [Float]) = ([], [])
    var (stream, held): (UInt32, UInt32) = (0, 0)  // a little-endian bit stream: 3, 5 and 6 bits straddle words
    for start in stride(from: 0, to: values.count, by: groupSize) {
        let group = quantizeGroup(values[start..<start + groupSize], bits: bits)
        scales.append(group.scale)
        biases.append(group.bias)
        for code in group.codes {
            stream |= UInt32(code) << held
            held += UInt32(bits)
            while held >= 8 {
                packed.append(UInt8(truncatingIfNeeded: stream))
                stream >>= 8
                held -= 8
            }
        }
    }
    // Codes come from the Float scale; only what is stored is rounded to the dtype.
    return StoredRow(data: packed, scales: encode(scales, dtype), biases: encode(biases, dtype))
}
