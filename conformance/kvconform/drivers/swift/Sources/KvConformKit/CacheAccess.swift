// What the kit itself does with caches, through the functions that you fill in.

struct CacheAccess<Cache: AnyObject> {
    let look: (Cache) throws -> Look<Cache>
    let append: (PatternRows, Cache) throws -> Int
    let replaceState: (Cache, [[Float]]) throws -> Void

    init<I: Implementation>(_ implementation: I) where I.Cache == Cache {
        look = { try implementation.look(at: $0, observing: Observe()) }
        append = { try implementation.append($0, to: $1) }
        replaceState = { try implementation.replaceState(of: $0, by: $1) }
    }

    /// `S`, `C`, `R`, `M`, `Q:group_size,bits`, `L(a,b)`.
    func signature(_ look: Look<Cache>) throws -> String {
        switch look.kind {
        case "plain": "S"
        case "chunked": "C"
        case "rotating": "R"
        case "recurrent": "M"
        case "quantized": "Q:\(look.groupSize ?? 0),\(look.bits ?? 0)"
        default: "L(\(try signatures(look.children).joined(separator: ",")))"
        }
    }

    func signatures(_ list: [Cache]) throws -> [String] { try list.map { try signature(look($0)) } }

    /// Writes rows to the cache that now sits at a layer's place; nil for recurrent and composite ones.
    func write(_ layer: Layer, to cache: Cache, rows: Int, salt: Int) throws -> Int? {
        let seen = try look(cache)
        if seen.kind == "composite" {
            for (slot, child) in zip(layer.children, seen.children) {
                _ = try write(slot, to: child, rows: rows, salt: salt)
            }
            return nil
        }
        if seen.kind == "recurrent" {
            try put(number: (31 * (seen.state?.first ?? 0) + rows + salt + 1) % stateModulus, into: cache, of: layer)
            return nil
        }
        let content = PatternRows(
            count: rows, heads: layer.heads, keyDim: layer.keyDim, valueDim: layer.valueDim, dtype: layer.dtype,
            stream: layer.stream, salt: salt, position: seen.offset ?? 0)
        return try append(content, cache)
    }

    /// Replaces every slot of a recurrent cache by the array that stands for the number.
    func put(number: Int, into cache: Cache, of layer: Layer) throws {
        let arrays = (0..<layer.slots).map { [Float](repeating: Float((number + $0) % stateModulus), count: 4) }
        try replaceState(cache, arrays)
    }
}
