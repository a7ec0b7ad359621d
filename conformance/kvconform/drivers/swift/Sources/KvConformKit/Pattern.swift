// The arithmetic that everybody shares, and the content of rows (contract, section 1).

let golden: UInt32 = 0x9E37_79B9
let stateModulus = 251

/// MurmurHash3's 32-bit finaliser.
@inlinable
public func fmix(_ value: UInt32) -> UInt32 {
    var h = value
    h ^= h >> 16
    h = h &* 0x85EB_CA6B
    h ^= h >> 13
    h = h &* 0xC2B2_AE35
    return h ^ (h >> 16)
}

/// Folds the integer `x` into the hash `h`.
@inlinable
public func chain(_ h: UInt32, _ x: Int) -> UInt32 {
    fmix(h &* 31 &+ UInt32(truncatingIfNeeded: x) &+ 0x9E37_79B9)
}

/// `chain` over all parts, starting from 0.
@inlinable
public func chainAll(_ parts: Int...) -> UInt32 {
    var h: UInt32 = 0
    for part in parts { h = chain(h, part) }
    return h
}

/// Rows of pattern content behind a position, as one append writes them. Values are computed when asked for.
public struct PatternRows {
    public let count: Int
    public let heads: Int
    public let keyDim: Int
    public let valueDim: Int
    public let dtype: DType
    let stream: Int
    let salt: Int
    let position: Int

    /// The head dim of keys (role 0) or values (role 1).
    public func dim(_ role: Int) -> Int { role == 0 ? keyDim : valueDim }

    /// The values of row `index`, for keys (role 0) or values (role 1) of one head: multiples of 1/64 in [-2, 2].
    public func values(role: Int, head: Int, index: Int) -> [Float] {
        var row = chainAll(stream, salt, role, head, position + index)
        return [Float](unsafeUninitializedCapacity: dim(role)) { buffer, initialized in
            for channel in 0..<dim(role) {
                buffer[channel] = Float(Int32(bitPattern: fmix(row) % 257) - 128) / 64
                row = row &+ golden
            }
            initialized = dim(role)
        }
    }

    /// All keys or all values as one array `[1, heads, count, dim]`, for designs that store what they get at once.
    public func array(role: Int) -> [Float] {
        var result: [Float] = []
        result.reserveCapacity(heads * count * dim(role))
        for head in 0..<heads {
            for index in 0..<count { result += values(role: role, head: head, index: index) }
        }
        return result
    }
}
