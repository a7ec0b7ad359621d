// The number formats of caches: rounding to them, and their little-endian bytes.

import KvConformKit

/// The bit pattern of a float32; every NaN is the positive quiet one.
private func pattern(_ value: Float) -> UInt32 { value.isNaN ? 0x7FC0_0000 : value.bitPattern }

/// The upper half of the float32, rounded to nearest, ties to even.
private func bfloat16(_ value: Float) -> UInt16 {
    let bits = pattern(value)
    return UInt16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
}

/// By hand, since `Float16` does not exist on every platform.
private func float16(_ value: Float) -> UInt16 {
    if value.isNaN { return 0x7E00 }
    let sign: UInt16 = value.sign == .minus ? 0x8000 : 0
    let size = value.magnitude
    if size >= 65520 { return sign | 0x7C00 }  // half-way between the largest and the next power of two
    if size == 0 { return sign }
    let exponent = max(Int(size.exponent), -14)  // subnormals share the digits of 2^-14
    let digits = Float(sign: .plus, exponent: 10 - exponent, significand: size).rounded(.toNearestOrEven)
    return sign | UInt16((exponent + 14) << 10) + UInt16(digits)  // the digits' top bit carries into the exponent
}

private func value(ofFloat16 half: UInt16) -> Float {
    let exponent = Int(half >> 10 & 0x1F)
    let digits = Float(half & 0x3FF)
    let size: Float =
        switch exponent {
        case 31: digits == 0 ? .infinity : .nan
        case 0: Float(sign: .plus, exponent: -24, significand: digits)
        default: Float(sign: .plus, exponent: exponent - 25, significand: digits + 1024)
        }
    return half & 0x8000 != 0 ? -size : size
}

/// Little-endian bytes of the values, each rounded to the dtype.
func encode(_ values: [Float], _ dtype: DType) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(values.count * dtype.itemBytes)
    for value in values {
        let bits = dtype == .float32 ? pattern(value) : UInt32(dtype == .float16 ? float16(value) : bfloat16(value))
        for byte in 0..<dtype.itemBytes { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(8 * byte))) }
    }
    return bytes
}

/// The values that little-endian bytes hold.
func decode(_ bytes: [UInt8], _ dtype: DType) -> [Float] {
    stride(from: 0, to: bytes.count, by: dtype.itemBytes).map { start in
        var bits: UInt32 = 0
        for byte in 0..<dtype.itemBytes { bits |= UInt32(bytes[start + byte]) << UInt32(8 * byte) }
        switch dtype {
        case .float16: return value(ofFloat16: UInt16(bits))
        case .bfloat16: return Float(bitPattern: bits << 16)
        default: return Float(bitPattern: bits)
        }
    }
}
