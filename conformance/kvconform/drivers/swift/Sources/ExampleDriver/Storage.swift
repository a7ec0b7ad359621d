// Cache states: out of a cache, into a new one, and to a file and back. A state holds the rows that a reader gets and
// nothing beyond the offset (QC-5, QC-11, KC-6).

import Foundation
import KvConformKit

/// The state of a cache; later writes to the cache do not change it.
func state(of cache: Cache) throws -> JSON {
    var fields: [(name: String, value: JSON)] = [("kind", .string(cache.kind.rawValue))]
    switch cache {
    case let recurrent as RecurrentCache:
        fields.append(("arrays", .array(recurrent.arrays.map { .base64(encode($0, .float32)) })))
    case let composite as CompositeCache: fields.append(("children", .array(try composite.children.map(state))))
    case let rows as RowCache:
        fields.append(("offset", .int(rows.state.offset)))
        fields.append(("start_position", .int(rows.state.startPosition)))
        fields.append(("rows", try rowsState(of: rows)))
        fields += parameters(of: rows)
    default: throw InvalidInput("this cache cannot be saved")
    }
    return .object(fields)
}

private func parameters(of cache: RowCache) -> [(name: String, value: JSON)] {
    switch cache {
    case let chunked as ChunkedCache: [("chunk_size", .int(chunked.chunkSize))]
    case let quantized as QuantizedCache: [("bits", .int(quantized.bits)), ("group_size", .int(quantized.groupSize))]
    case let rotating as RotatingCache:
        [("max_size", .int(rotating.maxSize)), ("keep", .int(rotating.keep)), ("oldest", .int(rotating.oldest))]
    default: []
    }
}

private func rowsState(of cache: RowCache) throws -> JSON {
    guard let shape = cache.state.shape else { return .null }
    let rows = cache.fetched
    let sides = try [0, 1].map { role in
        JSON.array(
            try rows.side(role, heads: shape.heads).map { row in
                .array([.base64(row.data), .base64(row.scales), .base64(row.biases)])
            })
    }
    return [
        "count": .int(rows.count), "heads": .int(shape.heads), "key_dim": .int(shape.keyDim),
        "value_dim": .int(shape.valueDim), "dtype": .string(shape.dtype.rawValue), "sides": .array(sides),
    ]
}

/// A new cache in this state.
func cache(from state: JSON) throws -> Cache {
    func int(_ name: String) throws -> Int { try value(state[name]?.intValue, name) }
    switch Kind(rawValue: try value(state["kind"]?.stringValue, "kind")) {
    case .recurrent:
        let arrays = try value(state["arrays"]?.arrayValue, "arrays")
        let cache = RecurrentCache(slots: arrays.count)
        cache.arrays = try arrays.map { decode(try bytes($0), .float32) }
        return cache
    case .composite: return CompositeCache(try value(state["children"]?.arrayValue, "children").map(cache))
    case .plain: return try filled(PlainCache(), from: state)
    case .chunked: return try filled(ChunkedCache(chunkSize: try int("chunk_size")), from: state)
    case .quantized:
        return try filled(try QuantizedCache(bits: try int("bits"), groupSize: try int("group_size")), from: state)
    case .rotating:
        let cache = try RotatingCache(maxSize: try int("max_size"), keep: try int("keep"))
        cache.oldest = try int("oldest")
        return try filled(cache, from: state)
    case nil: throw InvalidInput("the saved cache is of no kind known here")
    }
}

private func filled(_ cache: RowCache, from state: JSON) throws -> RowCache {
    cache.state.offset = try value(state["offset"]?.intValue, "offset")
    cache.state.startPosition = try value(state["start_position"]?.intValue, "start_position")
    guard let rows = state["rows"] else { return cache }
    func int(_ name: String) throws -> Int { try value(rows[name]?.intValue, name) }
    let dtype = DType(rawValue: try value(rows["dtype"]?.stringValue, "dtype")) ?? .float32
    let shape = RowShape(
        heads: try int("heads"), keyDim: try int("key_dim"), valueDim: try int("value_dim"), dtype: dtype)
    let sides = try value(rows["sides"]?.arrayValue, "sides").map { side in
        try value(side.arrayValue, "sides").map { row in
            let parts = try value(row.arrayValue, "sides").map(bytes)
            return StoredRow(data: parts[0], scales: parts[1], biases: parts[2])
        }
    }
    cache.state.shape = shape
    cache.state.stored = Rows(try LoadedBlock(count: try int("count"), heads: shape.heads, sides: sides))
    cache.allocate()
    return cache
}

private func value<Value>(_ value: Value?, _ name: String) throws -> Value {
    guard let value else { throw InvalidInput("the saved cache has no \(name); save it again") }
    return value
}

/// Bytes as the state holds them, or as text in a file.
private func bytes(_ json: JSON) throws -> [UInt8] {
    if case .base64(let bytes) = json { return bytes }
    return try value(json.stringValue.flatMap(decodedBase64), "bytes")
}

func savedAndLoaded(_ cache: Cache) throws -> Cache {
    let name = "kvconform-example-\(UUID().uuidString).json"
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(try state(of: cache).bytes).write(to: file)
    return try ExampleDriver.cache(from: JSON(parsing: [UInt8](try Data(contentsOf: file))))
}
